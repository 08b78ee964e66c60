import { connect } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { Controller, Get, Module, Req } from '@nestjs/common';
import type { Request } from 'express';
import { Client } from 'pg';
import { DataSource } from 'typeorm';
import { AcrossTenants, Public, RequireScope } from '../../../src/common/http/scopes';
import { withinTenants } from '../../../src/common/tenant';
import { Database } from '../../../src/database/pool/database.service';
import { DomainsService } from '../../../src/modules/domains/domains.service';
import { DomainsRepository } from '../../../src/modules/domains/registry/domains.repository';
import { Email } from '../../../src/modules/emails/email.entity';
import { EmailsRepository } from '../../../src/modules/emails/emails.repository';
import { ApiClient } from '../../e2e/kit/api-client';
import { statement } from '../../setup/open-test-database';
import { DomainsApp, type Owner } from '../domains/domains-app';

const OWNERS = 'select organization_id::text as id from emails';
const idsOf = (rows: readonly { id: string }[]) => rows.map(({ id }) => id);
const ownersOf = (emails: readonly Email[]) => emails.map(({ organizationId }) => organizationId);

/** What a hurried author writes: no tenant in any query. */
@Controller('v1/careless')
@RequireScope('email:read')
class CarelessController {
  constructor(
    private readonly database: Database,
    private readonly dataSource: DataSource,
  ) {}

  @Get('everything')
  async everything() {
    const { database, dataSource } = this;
    const emails = dataSource.getRepository(Email);
    return {
      statement: await this.owners(),
      transaction: idsOf(await database.transaction((tx) => tx.run<{ id: string }>(statement(OWNERS)))),
      snapshot: ownersOf(await database.snapshot(({ manager }) => manager.find(Email))),
      repository: ownersOf(await emails.find()),
      builder: ownersOf(await emails.createQueryBuilder('e').where('1 = 1').getMany()),
      ormTransaction: ownersOf(await dataSource.transaction((manager) => manager.find(Email))),
      later: await new Promise((resolve) => setTimeout(() => resolve(this.owners()), 1)),
    };
  }

  @Get('changes')
  async changes() {
    const emails = this.dataSource.getRepository(Email);
    return [await emails.update({ mode: 'live' }, { subject: 'changed' }), await emails.delete({ mode: 'live' })].map(
      ({ affected }) => affected,
    );
  }

  @Get('stream')
  async stream() {
    const answer = this.dataSource.createQueryBuilder(Email, 'e').stream();
    return answer.then(
      () => 'opened',
      (error: Error) => error.message,
    );
  }

  @Get('public')
  @Public()
  async public(@Req() { principal }: Request) {
    return { principal: principal ?? null, owners: await this.owners() };
  }

  @Get('all')
  @AcrossTenants()
  all() {
    return this.owners();
  }

  private async owners(): Promise<string[]> {
    return idsOf(await this.database.run<{ id: string }>(statement(OWNERS)));
  }
}

@Module({ controllers: [CarelessController] })
class CarelessModule {}

describe('the tenant scope of requests', () => {
  let app: DomainsApp;
  let acme: Owner;
  let other: Owner;
  let emailIds: string[];

  beforeAll(async () => {
    app = await DomainsApp.start({}, [CarelessModule]);
    [acme, other] = [await app.owner('Acme'), await app.owner('Other')];
    emailIds = await Promise.all([acme, other].map(storeEmail));
  });
  afterAll(() => app.close());

  const storeEmail = async ({ organizationId }: Owner): Promise<string> => {
    const [row] = await app.db.query<{ id: string }>(
      `insert into emails (
         organization_id, mode, id, domain_id, status, from_email, subject, to_emails, category, track_opens, track_clicks,
         event_sequence, created_at, updated_at
       )
       values ($1, 'live', gen_random_uuid(), gen_random_uuid(), 'queued', 'a@b.example', 's', '{c@d.example}', 'bulk',
         false, false, 1, now(), now())
       returning id`,
      [organizationId],
    );
    return (row as { id: string }).id;
  };
  const call = async (owner: Owner, path: string) => (await owner.api.get(`/v1/careless/${path}`)).body;

  it('gives queries without a tenant filter the rows of their caller only', async () => {
    for (const owner of [acme, other]) {
      const own = [owner.organizationId];
      expect(await call(owner, 'everything')).toEqual({
        statement: own,
        transaction: own,
        snapshot: own,
        repository: own,
        builder: own,
        ormTransaction: own,
        later: own,
      });
    }
  });

  it('keeps concurrent requests of several tenants apart', async () => {
    const owners = Array.from({ length: 40 }, (_, index) => (index % 2 === 0 ? acme : other));
    const answers = await Promise.all(owners.map((owner) => call(owner, 'everything')));
    expect(answers.map(({ repository, later }) => [repository, later])).toEqual(
      owners.map(({ organizationId }) => [[organizationId], [organizationId]]),
    );
  });

  it('lets a careless change reach the rows of its caller only', async () => {
    const third = await app.owner('Third');
    await storeEmail(third);
    expect(await call(third, 'changes')).toEqual([1, 1]);
    expect(await app.db.query('select 1 from emails where subject = $1', ['s'])).toHaveLength(2);
  });

  it('shows nothing to a public route, everything to one with @AcrossTenants, and opens no stream', async () => {
    const nobody = await new ApiClient(app.port, undefined).get('/v1/careless/public');
    expect(nobody.body).toEqual({ principal: null, owners: [] });
    expect((await call(acme, 'all')).sort()).toEqual([acme.organizationId, other.organizationId].sort());
    expect(await call(acme, 'stream')).toMatch(/tenant scope/);
  });

  it('serves a pipelined send as no part of the request before it, whose client would count as gone', async () => {
    const { organizationId, api, key } = await app.owner('Pipelining');
    await app.get(DomainsService).add(organizationId, 'pipes.example');
    await app.get(DomainsService).markVerified(organizationId, 'pipes.example');
    expect((await api.post('/v1/templates', { name: 'letter', subject: 's', text: 't' })).status).toBe(201);
    const head = `HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${key}\r\n`;
    const mail = JSON.stringify({ from: 'a@pipes.example', to: ['b@c.example'], template: { name: 'letter' } });
    const send = `POST /v1/emails ${head}Content-Type: application/json\r\nConnection: close\r\nContent-Length: ${mail.length}`;
    // Something else is under way, or nothing would be tracked by then.
    let end = (): void => undefined;
    const underWay = withinTenants([organizationId], () => new Promise<void>((resolve) => (end = resolve)));
    const socket = connect(app.port, '127.0.0.1');
    socket.write(`GET /v1/domains ${head}\r\n${send}\r\n\r\n${mail}`);
    const received = (await buffer(socket)).toString();
    end();
    await underWay;
    expect(received.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 200', 'HTTP/1.1 202']);
  });

  it('finds nothing for a repository call with another tenant', async () => {
    const [emails, domains] = [app.get(EmailsRepository), app.get(DomainsRepository)];
    const tenant = { organizationId: other.organizationId, mode: 'live' as const };
    const id = emailIds[1] ?? '';
    const find = async () => [await emails.find(tenant, id), await emails.findWhole(tenant, id)];
    expect(await withinTenants([other.organizationId], find)).not.toContain(null);
    expect(await withinTenants([acme.organizationId], find)).toEqual([null, undefined]);
    expect((await other.api.post('/v1/domains', { domain: 'other.example' })).status).toBe(201);
    const list = () => domains.list(other.organizationId);
    expect(await withinTenants([other.organizationId], list)).toHaveLength(1);
    expect(await withinTenants([acme.organizationId], list)).toEqual([]);
  });

  it('reaches everyone’s rows in a request only where that is meant', async () => {
    const { organizationId, api } = await app.owner('Busy');
    const domain = await app.get(DomainsService).add(organizationId, 'busy.example');
    await app.get(DomainsService).markVerified(organizationId, 'busy.example');
    const open = watchStatements();
    const mail = { from: 'a@busy.example', to: ['b@c.example'], subject: 's', text: 't' };
    const sent = await api.post('/v1/emails', mail, { 'idempotency-key': 'once' });
    expect((await api.post('/v1/emails/batch', [mail, mail])).status).toBe(202);
    const letter = { name: 'letter', subject: 'Hello {{ name }}', text: 'Hello {{ name }}' };
    expect((await api.post('/v1/templates', letter)).status).toBe(201);
    const rendered = { from: mail.from, to: mail.to, template: { name: 'letter', variables: { name: 'Ann' } } };
    expect((await api.post('/v1/emails', rendered)).status).toBe(202);
    const period = 'start_date=2026-01-01T00:00:00Z&end_date=2026-01-02T00:00:00Z';
    const paths = ['emails', `emails/${sent.body.data.id}`, 'emails?recipient=b@c.example', 'domains', 'suppressions'];
    paths.push(
      `emails/${sent.body.data.id}/events`,
      `domains/${domain.id}`,
      `stats?${period}`,
      `stats/domains?${period}`,
      'stats/reputation',
    );
    paths.push('templates', 'webhooks', 'events', 'api-keys', 'audit-log', 'gdpr/status');
    for (const path of paths) expect([path, (await api.get(`/v1/${path}`)).status]).toEqual([path, 200]);
    expect((await api.post(`/v1/emails/${sent.body.data.id}/cancel`)).status).toBeLessThan(500);
    expect((await api.post('/v1/suppressions', { email: 'x@y.example', reason: 'manual' })).status).toBe(201);
    expect((await api.post('/v1/domains', { domain: 'second.example' })).status).toBe(201);
    expect((await api.post(`/v1/domains/${domain.id}/verify`)).status).toBe(200);
    const found = [...open()];
    expect(found).toEqual(expect.arrayContaining(['find-key-by-hash', 'search-emails-to']));
    expect(found.filter((name) => !MEANT.some((meant) => name.startsWith(meant)))).toEqual([]);
  });
});

/** Statements that a request sends, or leaves behind, as the service: test/architecture/tenant-scope.spec.ts says why. */
const MEANT = [
  ...['find-key-by-hash', 'touch-keys', 'record-hits', 'notify-workers', 'search-emails-to'],
  // Of the process itself, now and then.
  'read-distribution',
  // Which transactions are open.
  'read-event-horizon',
  // What all organizations share of receivers: why their mail waits.
  ...['list-destination-rules', 'fold-held-destinations'],
  // Whether another organization has verified a name.
  'SELECT 1 AS "row_exists"',
];

/** Collects the statements that run outside a tenant's transaction; the result ends it. */
function watchStatements(): () => ReadonlySet<string> {
  const open = new Set<string>();
  const restricted = new WeakSet<Client>();
  const query = Client.prototype.query as (...given: unknown[]) => unknown;
  const watch = jest.spyOn(Client.prototype, 'query').mockImplementation(function (this: Client, ...given: unknown[]) {
    const { name = '', text } =
      typeof given[0] === 'string' ? { text: given[0] } : (given[0] as { name?: string; text: string });
    if (text.startsWith('begin') && text.includes('set local role')) restricted.add(this);
    else if (text === 'commit' || text === 'rollback') restricted.delete(this);
    else if (!text.startsWith('begin') && !restricted.has(this)) open.add(name || text.trim().slice(0, 80));
    return query.apply(this, given);
  });
  return () => {
    watch.mockRestore();
    return open;
  };
}
