import { randomUUID } from 'node:crypto';
import { HolderTurns } from '../../../src/common/async/holder-turns';
import { ClientGoneError } from '../../../src/common/errors/app-error';
import { DomainsService } from '../../../src/modules/domains/domains.service';
import { AcceptCommit } from '../../../src/modules/emails/accept/commit/accept-commit.service';
import { AcceptService } from '../../../src/modules/emails/accept/commit/accept.service';
import type { SubmissionItem } from '../../../src/modules/emails/accept/request/send-request';
import { EmailListsRepository } from '../../../src/modules/emails/emails.repository';
import { InboundEmailsRepository } from '../../../src/modules/inbound-mail/emails/inbound-emails.repository';
import type { Answer } from '../../e2e/kit/api-client';
import { waitFor } from '../../setup/wait-for';
import { DomainsApp, type Owner } from '../domains/domains-app';

const POOL_SIZE = 10;

let app: DomainsApp;
let acme: Owner;
let other: Owner;
beforeAll(async () => (app = await DomainsApp.start({ DATABASE_POOL_SIZE: String(POOL_SIZE) })));
afterAll(() => app.close());
afterEach(() => jest.restoreAllMocks());
beforeEach(async () => ([acme, other] = [await app.owner(), await app.owner('Other')]));

/** Connections of the app that wait for a lock. */
async function held(): Promise<number> {
  const [row] = await app.db.query<{ connections: number }>(
    `select count(*)::int as connections from pg_stat_activity
     where datname = current_database() and wait_event_type = 'Lock'`,
  );
  return row?.connections ?? 0;
}

/** Holds whatever reads or changes the tables, until `work` has ended. */
function whileLocked(tables: string, work: () => Promise<void>): Promise<void> {
  return app.db.dataSource.transaction(async (manager) => {
    await manager.query(`lock table ${tables} in access exclusive mode`);
    await work();
  });
}

async function domainOf({ organizationId }: Owner): Promise<{ id: string; name: string }> {
  const domains = app.get(DomainsService);
  const { id, domain: name } = await domains.add(organizationId, `${randomUUID()}.example`);
  await domains.markVerified(organizationId, id);
  return { id, name };
}

const times = (count: number, call: () => Promise<Answer>) => Array.from({ length: count }, call);

describe('the connections of one organization', () => {
  it('leave others to all, whatever holds them: reads, changes, checks of domains', async () => {
    const [own, sender] = [await domainOf(acme), await domainOf(other)];
    const mail = { from: `ada@${sender.name}`, to: ['eve@example.com'], subject: 'Hello', text: 'Hello' };
    let wanted: Promise<Answer>[] = [];
    await whileLocked('templates, domain_checks', async () => {
      const { api } = acme;
      wanted = [
        ...times(POOL_SIZE, () => api.get('/v1/templates')),
        ...times(POOL_SIZE, () => api.post('/v1/templates', { name: randomUUID(), subject: 'Hello', text: 'Hello' })),
        ...times(POOL_SIZE, () => api.post(`/v1/domains/${own.id}/verify`)),
      ];
      await waitFor(async () => (await held()) >= 4, { what: 'connections that are held' });
      const answers = await Promise.all([
        ...times(POOL_SIZE, () => other.api.get('/v1/webhooks')),
        ...times(POOL_SIZE, () => other.api.post('/v1/emails', mail)),
      ]);
      expect(answers.map(({ status }) => status)).toEqual([
        ...Array<number>(POOL_SIZE).fill(200),
        ...Array<number>(POOL_SIZE).fill(202),
      ]);
      expect(await held()).toBeLessThanOrEqual(4);
    });
    await Promise.all(wanted);
    expect((await acme.api.get('/v1/templates')).status).toBe(200);
  });
});

describe.each([1, 2, 3, 4])('a pool of %i', (size) => {
  it('serves all requests of several organizations', async () => {
    const small = await DomainsApp.start({ DATABASE_POOL_SIZE: String(size) });
    try {
      const owners = await Promise.all(['A', 'B', 'C'].map((name) => small.owner(name)));
      const answers = await Promise.all(
        owners.flatMap(({ api }) => [
          ...times(10, () => api.get('/v1/templates')),
          ...times(10, () => api.get('/v1/emails?subject=hello')),
          ...times(10, () => api.post('/v1/domains', { domain: `${randomUUID()}.example` })),
          ...times(10, () => api.post('/v1/templates', { name: randomUUID(), subject: 'Hello', text: 'Hello' })),
        ]),
      );
      expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200, 201]));
    } finally {
      await small.close();
    }
  });
});

/** Sends a request whose client goes away when the test says so. */
function leavingClient(path: string, body?: unknown): { leave: () => void; readonly gone: Promise<void> } {
  const leaving = new AbortController();
  const asked = fetch(`http://127.0.0.1:${app.port}${path}`, {
    headers: { authorization: `Bearer ${acme.key}`, 'content-type': 'application/json' },
    signal: leaving.signal,
    ...(body !== undefined && { method: 'POST', body: JSON.stringify(body) }),
  });
  return {
    leave: () => leaving.abort(),
    gone: asked.then(
      () => undefined,
      () => undefined,
    ),
  };
}

describe('searches of received mail', () => {
  it('run one at a time of an organization, and another one’s beside them', async () => {
    const searching: string[] = [];
    let release = (): void => undefined;
    const released = new Promise<void>((resolve) => (release = resolve));
    const repository = app.get(InboundEmailsRepository);
    const search = repository.search.bind(repository);
    jest.spyOn(repository, 'search').mockImplementation(async (...given) => {
      searching.push(given[0].organizationId);
      await released;
      return search(...given);
    });
    const begin = jest.spyOn(HolderTurns.prototype, 'begin');
    const waits = () => begin.mock.results.filter(({ value }) => value instanceof Promise).length;
    const wanted = times(3, () => acme.api.get('/v1/inbound-emails?from=ada@x.example'));
    await waitFor(() => waits() === 2, { what: 'two that wait' });
    wanted.push(other.api.get('/v1/inbound-emails?from=ada@x.example'));
    await waitFor(() => searching.length === 2, { what: 'one of each' });
    expect(searching).toEqual([acme.organizationId, other.organizationId]);
    release();
    expect((await Promise.all(wanted)).map(({ status }) => status)).toEqual([200, 200, 200, 200]);
  });
});

describe('what waits for a client that has gone', () => {
  it('is not done: a search', async () => {
    const searched: string[] = [];
    let release = (): void => undefined;
    const released = new Promise<void>((resolve) => (release = resolve));
    const repository = app.get(EmailListsRepository);
    const search = repository.search.bind(repository);
    jest.spyOn(repository, 'search').mockImplementation(async (...given) => {
      searched.push(given[2].subject ?? '');
      await released;
      return search(...given);
    });
    const limit = jest.spyOn(HolderTurns.prototype, 'begin');
    const first = acme.api.get('/v1/emails?subject=first');
    await waitFor(() => searched.length === 1, { what: 'the first search' });
    const left = leavingClient('/v1/emails?subject=left');
    const waits = () => limit.mock.results.filter(({ value }) => value instanceof Promise).length;
    await waitFor(() => waits() === 1, { what: 'the second to wait' });
    left.leave();
    await left.gone;
    await expect(limit.mock.results.find(({ value }) => value instanceof Promise)?.value).rejects.toThrow(
      ClientGoneError,
    );
    const last = acme.api.get('/v1/emails?subject=last');
    release();
    expect((await Promise.all([first, last])).map(({ status }) => status)).toEqual([200, 200]);
    expect(searched).toEqual(['first', 'last']);
  });

  it.each(['', 'of a batch', 'under a key that another holds'])('is not done: an email %s', async (which) => {
    const { name } = await domainOf(acme);
    const mail = (subject: string) => ({ from: `ada@${name}`, to: ['eve@example.com'], subject, text: 'Hello' });
    const committed: unknown[] = [];
    let release = (): void => undefined;
    const released = new Promise<void>((resolve) => (release = resolve));
    const commits = app.get(AcceptCommit);
    const run = commits.run.bind(commits);
    jest.spyOn(commits, 'run').mockImplementation(async (all) => {
      committed.push(...all.flatMap(({ items }) => items.map(({ candidate }) => subjectOf(candidate))));
      await released;
      return run(all);
    });
    const submit = jest.spyOn(app.get(AcceptService), 'submit');
    const idempotencyKey = which === 'under a key that another holds' ? randomUUID() : undefined;
    const first = [acme.api.post('/v1/emails', { ...mail('first'), idempotencyKey })];
    await waitFor(() => committed.length === 1, { what: 'the first commit' });
    first.push(acme.api.post('/v1/emails', mail('second')));
    await waitFor(() => committed.length === 2, { what: 'the second commit' });
    const left =
      which === 'of a batch'
        ? leavingClient('/v1/emails/batch', [mail('left')])
        : leavingClient('/v1/emails', { ...mail('left'), idempotencyKey });
    await waitFor(() => submit.mock.calls.length === 3, { what: 'the third email' });
    left.leave();
    await left.gone;
    await waitFor(() => submit.mock.calls[2]?.[2]?.() === true, { what: 'the end of its connection' });
    const last = acme.api.post('/v1/emails', mail('last'));
    release();
    expect((await Promise.all([...first, last])).map(({ status }) => status)).toEqual([202, 202, 202]);
    await expect(submit.mock.results[2]?.value).rejects.toThrow(ClientGoneError);
    expect(committed).toEqual(['first', 'second', 'last']);
  });
});

function subjectOf(candidate: SubmissionItem['candidate']): string | undefined {
  return candidate.kind === 'command' ? candidate.request.subject : undefined;
}
