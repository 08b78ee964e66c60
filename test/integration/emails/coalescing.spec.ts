import { DataSource } from 'typeorm';
import { type AppError, CommitUnknownError } from '../../../src/common/errors/app-error';
import { newId } from '../../../src/common/ids';
import { poolOf } from '../../../src/database/pool/data-source';
import { Database } from '../../../src/database/pool/database.service';
import { AcceptCommit } from '../../../src/modules/emails/accept/commit/accept-commit.service';
import { organizationsOf } from '../../../src/modules/emails/accept/commit/screen-submissions';
import { AcceptService } from '../../../src/modules/emails/accept/commit/accept.service';
import type { AcceptCommand, SendRequest } from '../../../src/modules/emails/accept/request/send-request';
import { parseSendRequest } from '../../../src/modules/emails/accept/request/parse-send-request';
import { SuppressionsService } from '../../../src/modules/suppressions/suppressions.service';
import { Template } from '../../../src/modules/templates/template.entity';
import { SendEmailsService } from '../../../src/modules/emails/accept/send-emails.service';
import { sendBody } from '../../factories/send-requests';
import { countEmails, readCounters } from '../../factories/stored-email';
import { addSuppression, createTenant, type Tenant } from '../../factories/tenants';
import { type Core, startCore } from '../../setup/core-context';
import { type OpenTestDatabase, openTestDatabase } from '../../setup/open-test-database';

/** Of a hundred; the background takes some connections meanwhile. */
const FEW = 12;

describe('accepting many emails at once', () => {
  let db: OpenTestDatabase;
  let core: Core;
  let sender: SendEmailsService;
  let accepts: AcceptService;
  let tenant: Tenant;

  beforeAll(async () => {
    db = await openTestDatabase({ poolSize: 3, applicationName: 'observer' });
    core = await startCore(db.url);
    sender = core.get(SendEmailsService);
    accepts = core.get(AcceptService);
  });
  beforeEach(async () => {
    tenant = await createTenant(db);
  });
  afterEach(() => jest.restoreAllMocks());
  afterAll(async () => {
    await core.close();
    await db.drop();
  });

  const send = (fields: Record<string, unknown> = {}) => sender.sendOne(sendBody(fields), undefined, tenant.as('live'));

  function command(fields: Record<string, unknown> = {}, spoiled: Partial<SendRequest> = {}): AcceptCommand {
    const parsed = parseSendRequest(sendBody({ from: `a@${tenant.domain}`, ...fields }), new Date());
    if (!parsed.ok) throw new Error(JSON.stringify(parsed.error.details));
    const { organizationId, domainId: id, domain: name } = tenant;
    const request = { ...parsed.request, ...spoiled };
    return {
      kind: 'command',
      organizationId,
      mode: 'live',
      domain: { id, name, isLimited: false },
      request,
      monthlyRecipients: null,
      trackByDefault: TRACK,
    };
  }
  const TRACK = { opens: true, clicks: true };
  const submit = (candidate: AcceptCommand) => accepts.submit({ items: [{ candidate }] }, candidate.organizationId);

  it('takes far fewer transactions than emails', async () => {
    await send();
    const transactions = jest.spyOn(core.get(Database), 'transaction');
    const ids = await Promise.all(Array.from({ length: 200 }, async () => (await send()).accepted.id));
    expect(new Set(ids).size).toBe(200);
    expect(await countEmails(db, tenant.organizationId)).toBe(201);
    expect(transactions.mock.calls.length).toBeLessThanOrEqual(8);
    expect(await readCounters(db, tenant.organizationId)).toEqual({ emails: 201, accepted: 201 });
  });

  it('domains that the organization does not have cost a few queries, however many are named at once', async () => {
    const unknown = () => sendBody({ from: `a@${newId()}.example` });
    await sender.sendBatch([unknown(), unknown()], undefined, tenant.as('live'));
    const taken = jest.spyOn(poolOf(core.get(DataSource)), 'connect');
    const { results } = await sender.sendBatch(Array.from({ length: 100 }, unknown), undefined, tenant.as('live'));
    expect(results).toEqual(Array(100).fill(expect.objectContaining({ code: 'domain_not_verified' })));
    expect(taken.mock.calls.length).toBeLessThanOrEqual(FEW);
    taken.mockClear();
    const singles = Array.from({ length: 200 }, () => sender.sendOne(unknown(), undefined, tenant.as('live')));
    const reasons = (await Promise.allSettled(singles)).map((result) => result.status === 'rejected' && result.reason);
    expect(reasons).toEqual(Array(200).fill(expect.objectContaining({ code: 'domain_not_verified' })));
    expect(taken.mock.calls.length).toBeLessThanOrEqual(FEW);
  });

  it('templates that a batch names cost a few queries, however many there are', async () => {
    const old = { organizationId: tenant.organizationId, id: newId(), name: 'often-changed', version: 500 };
    await core.get(DataSource).manager.insert(Template, { ...old, createdAt: new Date(), updatedAt: new Date() });
    await send({ from: `a@${tenant.domain}` });
    const taken = jest.spyOn(poolOf(core.get(DataSource)), 'connect');
    const unknown = (index: number) => ({ name: `unknown-${index}` });
    const deletedVersion = (index: number) => ({ id: old.id, version: index + 1 });
    for (const template of [unknown, deletedVersion]) {
      taken.mockClear();
      const fields = { from: `a@${tenant.domain}`, subject: undefined, text: undefined, html: undefined };
      const bodies = Array.from({ length: 100 }, (_, index) => sendBody({ ...fields, template: template(index) }));
      const { results } = await sender.sendBatch(bodies, undefined, tenant.as('live'));
      expect(results).toEqual(Array(100).fill(expect.objectContaining({ code: 'template_not_found' })));
      expect(taken.mock.calls.length).toBeLessThanOrEqual(FEW);
    }
  });

  it('finds each sender among those of other organizations, by name and by default', async () => {
    const other = await createTenant(db);
    const from = [`a@${tenant.domain}`, `a@${other.domain}`, 'a'];
    const callers = [tenant, other].flatMap((one) => from.map((address) => [one, address] as const));
    const results = await Promise.allSettled(
      callers.map(([one, address]) => sender.sendOne(sendBody({ from: address }), undefined, one.as('live'))),
    );
    const codes = results.map((result) => (result.status === 'rejected' ? result.reason.code : 'accepted'));
    const notVerified = 'domain_not_verified';
    expect(codes).toEqual(['accepted', notVerified, 'accepted', notVerified, 'accepted', 'accepted']);
  });

  it('two processes at once accept as many as the organization may have, and no more', async () => {
    const second = await startCore(db.url);
    try {
      await db.query('update organizations set monthly_recipients = 30 where id = $1', [tenant.organizationId]);
      const senders = Array.from({ length: 60 }, (_, n) => (n % 2 ? core : second).get(SendEmailsService));
      const results = await Promise.allSettled(
        senders.map((process) => process.sendOne(sendBody({}), undefined, tenant.as('live'))),
      );
      const refused = results.filter((result) => result.status === 'rejected');
      expect(refused).toHaveLength(30);
      for (const { reason } of refused) expect(reason).toMatchObject({ code: 'sending_limit_exceeded' });
      expect(await countEmails(db, tenant.organizationId)).toBe(30);
      expect(await readCounters(db, tenant.organizationId)).toEqual({ emails: 30, accepted: 30 });
    } finally {
      await second.close();
    }
  });

  it('small ones wait for no transaction of large ones, however many of those are under way', async () => {
    const [{ month }] = (await db.query(`select date_trunc('month', now(), 'UTC') as month`)) as [{ month: Date }];
    const owner = await createTenant(db);
    await db.query('update organizations set monthly_recipients = 100 where id = $1', [owner.organizationId]);
    const holder = db.dataSource.createQueryRunner();
    await holder.startTransaction();
    // Accepting their mail waits for this row.
    await holder.query('insert into monthly_usage values ($1, $2, 0, now())', [
      owner.organizationId,
      month.toISOString().slice(0, 10),
    ]);
    const settled: string[] = [];
    const large = Array.from({ length: 4 }, () =>
      sender
        .sendOne(sendBody({ text: 'x'.repeat(600 * 1024) }), undefined, owner.as('live'))
        .then(() => settled.push('large')),
    );
    const small = Array.from({ length: 4 }, () => send().then(() => settled.push('small')));
    await Promise.all(small);
    expect(settled).toEqual(['small', 'small', 'small', 'small']);
    await holder.rollbackTransaction();
    await holder.release();
    await Promise.all(large);
    expect(await countEmails(db, owner.organizationId)).toBe(4);
  });

  it.each<[string, Partial<SendRequest>]>([
    ['breaks a rule of the schema', { category: 'nonsense' as 'bulk' }],
    ['holds what the database cannot store', { subject: 'a\0b' }],
  ])('one that %s does not fail the others of its batch', async (_name, spoiled) => {
    const good = Array.from({ length: 30 }, () => command());
    const all = [...good.slice(0, 15), command({}, spoiled), ...good.slice(15)];
    const results = await Promise.allSettled(all.map(submit));
    const failed = results.filter((result) => result.status === 'rejected');
    expect(failed).toHaveLength(1);
    expect(results[15]?.status).toBe('rejected');
    expect(await countEmails(db, tenant.organizationId)).toBe(30);
    expect(await readCounters(db, tenant.organizationId)).toEqual({ emails: 30, accepted: 30 });
  });

  it('one that fails costs another organization one more transaction, however many of its mails are in the batch', async () => {
    const other = await createTenant(db);
    const { organizationId, domainId: id, domain: name } = other;
    const theirs = Array.from({ length: 60 }, () => ({
      ...command(),
      ...{ organizationId, domain: { id, name, isLimited: false } },
    }));
    await submit(command());
    const transactions = jest.spyOn(core.get(Database), 'transaction');
    const bad = command({}, { category: 'nonsense' as 'bulk' });
    const results = await Promise.allSettled([...theirs.slice(0, 30), bad, ...theirs.slice(30)].map(submit));
    expect(results.flatMap(({ status }, at) => (status === 'rejected' ? [at] : []))).toEqual([30]);
    expect(await countEmails(db, organizationId)).toBe(60);
    expect(transactions.mock.calls.length).toBeLessThanOrEqual(FEW);
  });

  it('those of an organization that may have been committed apart from one that fails are not accepted twice', async () => {
    const other = await createTenant(db);
    const theirs = {
      organizationId: other.organizationId,
      domain: { id: other.domainId, name: other.domain, isLimited: false },
    };
    const commits = core.get(AcceptCommit);
    const write = commits.run.bind(commits);
    jest.spyOn(commits, 'run').mockImplementation(async (all) => {
      const results = await write(all);
      if (all.length > 1 && organizationsOf(all).length === 1) throw new CommitUnknownError(new Error('lost'));
      return results;
    });
    const bad = { ...command({}, { category: 'nonsense' as 'bulk' }), ...theirs };
    const results = await Promise.allSettled([command(), bad, command(), command()].map(submit));
    const codes = results.map((result) => result.status === 'rejected' && (result.reason as AppError).code);
    expect(codes.toSpliced(1, 1)).toEqual(Array(3).fill('service_unavailable'));
    expect(await countEmails(db, tenant.organizationId)).toBe(3);
  });

  describe('with suppressed recipients', () => {
    const lookUps = () => jest.spyOn(core.get(SuppressionsService), 'findBlocking');
    const to = (n: number) => (n % 10 === 3 ? 'listed@x.example' : `r${n}@x.example`);

    it('looks no address up as long as none is listed', async () => {
      const spy = lookUps();
      await Promise.all(Array.from({ length: 50 }, () => send()));
      expect(spy).not.toHaveBeenCalled();
    });

    it('refuses those, and takes the others once', async () => {
      await addSuppression(db, tenant, { email: 'listed@x.example', reason: 'hard_bounce' });
      const results = await Promise.allSettled(Array.from({ length: 50 }, (_, n) => send({ to: [to(n)] })));
      const refused = results.flatMap((result, n) => (result.status === 'rejected' ? [n] : []));
      expect(refused).toEqual([3, 13, 23, 33, 43]);
      expect(await countEmails(db, tenant.organizationId)).toBe(45);
      expect(await readCounters(db, tenant.organizationId)).toEqual({ emails: 45, accepted: 45 });
    });

    it('looks up first for a while after a wrong guess', async () => {
      await addSuppression(db, tenant, { email: 'listed@x.example', reason: 'hard_bounce' });
      await expect(send({ to: ['listed@x.example'] })).rejects.toMatchObject({ code: 'recipient_suppressed' });
      const spy = lookUps();
      await send();
      expect(spy).toHaveBeenCalledTimes(1);
    });
  });

  it('a batch is committed as a whole', async () => {
    const items = [command(), command({}, { category: 'nonsense' as 'bulk' }), command()];
    const submission = { items: items.map((candidate) => ({ candidate })) };
    await expect(accepts.submit(submission, tenant.organizationId)).rejects.toThrow();
    expect(await countEmails(db, tenant.organizationId)).toBe(0);
  });

  it('of several organizations are in turn, and each finds room', async () => {
    const other = await createTenant(db);
    const order: string[] = [];
    jest.spyOn(core.get(AcceptCommit), 'run').mockImplementation(async (all) => {
      order.push(...organizationsOf(all));
      await gate;
      return all.map(() => ({ results: [], replayed: false }));
    });
    let open: () => void = () => undefined;
    const gate = new Promise<void>((resolve) => (open = resolve));
    const text = 'x'.repeat(600 * 1024);
    const large = command({ text });
    const settled = (sent: Promise<unknown>) =>
      sent.then(
        () => 'accepted',
        ({ code }: AppError) => code,
      );
    const own = Array.from({ length: 2_100 }, () => settled(submit(large)));
    const theirs = settled(submit({ ...large, organizationId: other.organizationId }));
    open();
    expect(await theirs).toBe('accepted');
    const results = await Promise.all(own);
    expect(results.slice(0, 2_000)).toEqual(Array(2_000).fill('accepted'));
    expect(results.slice(2_000)).toEqual(Array(100).fill('rate_limit_exceeded'));
    expect(order.indexOf(other.organizationId)).toBeLessThan(6);
  });

  it('keeps large and small emails apart enough, all of them arrive', async () => {
    const html = 'x'.repeat(300_000);
    const sends = Array.from({ length: 40 }, (_, n) => send(n % 4 === 0 ? { html } : {}));
    await Promise.all(sends);
    expect(await countEmails(db, tenant.organizationId)).toBe(40);
  });

  describe('when connections break', () => {
    const terminate = () =>
      db.query(`select pg_terminate_backend(pid) from pg_stat_activity
                where datname = current_database() and application_name = 'waybill'`);

    /** What became of emails that are known by their subjects. */
    async function outcomes(subjects: readonly string[], results: readonly PromiseSettledResult<unknown>[]) {
      const found = await db.query<{ subject: string }>('select subject from emails where subject = any($1)', [
        subjects,
      ]);
      const stored = new Set(found.map((row) => row.subject));
      return results.map((result, index) => ({
        accepted: result.status === 'fulfilled',
        code: result.status === 'rejected' ? (result.reason as { code?: string }).code : undefined,
        stored: stored.has(subjects[index] ?? ''),
      }));
    }

    it('returns success only for stored emails, at any moment', async () => {
      const all: { accepted: boolean; code: string | undefined; stored: boolean }[] = [];
      for (let round = 0; round < 100; round += 1) {
        const subjects = Array.from({ length: 4 }, () => newId());
        const sends = Promise.allSettled(subjects.map((subject) => submit(command({ subject }))));
        for (let turn = 0; turn < round % 12; turn += 1) await new Promise((resolve) => setImmediate(resolve));
        await terminate();
        all.push(...(await outcomes(subjects, await sends)));
      }
      expect(all.filter(({ accepted, stored }) => accepted && !stored)).toEqual([]);
      expect(new Set(all.map(({ code }) => code))).toEqual(new Set([undefined, 'service_unavailable']));
      await expect(send()).resolves.toMatchObject({ replayed: false });
    });

    it('stores nothing of what dies at its commit', async () => {
      await db.query(`
        create function die() returns trigger language plpgsql security definer as $$
          begin perform pg_terminate_backend(pg_backend_pid()); return null; end $$;
        create constraint trigger die after insert on stats_deltas deferrable initially deferred
          for each row execute function die()`);
      const subjects = Array.from({ length: 20 }, () => newId());
      const results = await Promise.allSettled(subjects.map((subject) => submit(command({ subject }))));
      await db.query('drop trigger die on stats_deltas');
      const dead = { accepted: false, code: 'service_unavailable', stored: false };
      expect(await outcomes(subjects, results)).toEqual(subjects.map(() => dead));
      await expect(send()).resolves.toMatchObject({ replayed: false });
    });

    it.each([
      ['a deadlock', '40P01'],
      ['a serialization failure', '40001'],
    ])('tries again by itself after %s', async (_name, code) => {
      await db.query(`
        create sequence attempts;
        create function fail_twice() returns trigger language plpgsql security definer as $$
          begin if nextval('attempts') <= 2 then raise sqlstate '${code}'; end if; return new; end $$;
        create trigger fail_twice before insert on stats_deltas for each statement execute function fail_twice()`);
      try {
        await expect(send()).resolves.toMatchObject({ replayed: false });
      } finally {
        await db.query('drop trigger fail_twice on stats_deltas; drop function fail_twice; drop sequence attempts');
      }
      expect(await countEmails(db, tenant.organizationId)).toBe(1);
    });
  });
});
