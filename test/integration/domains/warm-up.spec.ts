import { DAY, HOUR } from '../../../src/common/clock';
import { type AppError, CommitUnknownError, UnavailableError } from '../../../src/common/errors/app-error';
import { Database } from '../../../src/database/pool/database.service';
import { DomainRegistrationService } from '../../../src/modules/domains/domain-registration.service';
import { DomainsService } from '../../../src/modules/domains/domains.service';
import { WarmUpService } from '../../../src/modules/domains/restrictions/warm-up.service';
import { SendEmailsService } from '../../../src/modules/emails/accept/send-emails.service';
import { FakeClock } from '../../doubles/fake-clock';
import { sendBody } from '../../factories/send-requests';
import { countEmails, readCounters } from '../../factories/stored-email';
import { addSuppression, createTenant, type Tenant } from '../../factories/tenants';
import { type Core, startCore } from '../../setup/core-context';
import { type OpenTestDatabase, openTestDatabase } from '../../setup/open-test-database';

const RELAY = { DELIVERY_MODE: 'relay', RELAY_URL: 'smtp://127.0.0.1:2525' };
const START = '2026-01-05T18:00:00.000Z';

describe('the warm-up of a domain', () => {
  const clock = new FakeClock(START);
  let db: OpenTestDatabase;
  let core: Core;
  let tenant: Tenant;

  beforeAll(async () => {
    db = await openTestDatabase({ poolSize: 4 });
    core = await startCore(db.url, { clock, env: RELAY });
  });
  beforeEach(async () => {
    clock.set(START);
    tenant = await createTenant(db);
  });
  afterEach(() => jest.restoreAllMocks());
  afterAll(async () => {
    await core.close();
    await db.drop();
  });

  const to = (count: number) => Array.from({ length: count }, (_, index) => `r${index}@example.com`);
  const send = (count: number, { key, on = core }: { key?: string; on?: Core } = {}) =>
    on.get(SendEmailsService).sendOne(sendBody({ to: to(count) }), key, tenant.as('live'));
  const refusal = (count: number, on = core) =>
    send(count, { on }).then(
      () => undefined,
      (error: AppError) => error,
    );
  const domain = async () => {
    const [row] = await db.query('select * from domains where id = $1', [tenant.domainId]);
    return row as Record<string, unknown>;
  };
  const used = async () => {
    const rows = await db.query<{ day: string; recipients: number }>(
      'select day::text, recipients from warm_up_usage where domain_id = $1 order by day',
      [tenant.domainId],
    );
    return Object.fromEntries(rows.map(({ day, recipients }) => [day, recipients]));
  };

  describe('of a domain that is removed and added again', () => {
    const removeAndAdd = async () => {
      await core.get(DomainRegistrationService).remove(tenant.organizationId, tenant.domainId, 'operator');
      return core.get(DomainsService).add(tenant.organizationId, tenant.domain, 'operator');
    };

    it('goes on where it was: neither a limit nor a pause is escaped', async () => {
      await send(15);
      await db.query("update domains set warming_status = 'paused', warming_paused_at = now() where id = $1", [
        tenant.domainId,
      ]);
      const added = await removeAndAdd();
      expect(added).toMatchObject({ id: tenant.domainId, warmingStatus: 'paused', verificationStatus: 'pending' });
      expect(await domain()).toMatchObject({ warming_status: 'paused', warming_started_at: clock.now() });
      expect(await used()).toEqual({ '2026-01-05': 15 });
    });

    it('keeps its id when it sent without a warm-up, since its statistics and its reputation are stored under it', async () => {
      await db.query('update domains set verified_at = now() where id = $1', [tenant.domainId]);
      expect(await removeAndAdd()).toMatchObject({ id: tenant.domainId, warmingStatus: 'not_started' });
    });

    it('is a new one when it was never verified, and so has never sent', async () => {
      await db.query("update domains set verification_status = 'pending', verified_at = null where id = $1", [
        tenant.domainId,
      ]);
      const added = await removeAndAdd();
      expect(added.id).not.toBe(tenant.domainId);
      expect(added.warmingStatus).toBe('not_started');
    });

    it('is added once, by however many at a time', async () => {
      await send(1);
      await core.get(DomainRegistrationService).remove(tenant.organizationId, tenant.domainId, 'operator');
      const add = () => core.get(DomainsService).add(tenant.organizationId, tenant.domain, 'operator');
      const results = await Promise.allSettled(Array.from({ length: 4 }, add));
      const refused = results.flatMap((result) => (result.status === 'rejected' ? [result.reason as AppError] : []));
      expect(refused.map(({ code }) => code)).toEqual(Array(3).fill('domain_already_exists'));
    });
  });

  describe('counts recipients', () => {
    it('from the first live send, and refuses those above the limit of the day', async () => {
      expect(await domain()).toMatchObject({ warming_status: 'not_started', warming_started_at: null });
      await send(12);
      expect(await domain()).toMatchObject({ warming_status: 'warming', warming_started_at: clock.now() });
      clock.advance(HOUR);
      expect(await refusal(9)).toMatchObject({
        code: 'sending_limit_exceeded',
        message: expect.stringContaining(tenant.domain),
        details: {
          ...{ limit: 20, used: 12, requested: 9, reason: 'warming' },
          resetsAt: '2026-01-06T00:00:00.000Z',
        },
        suggestion: expect.stringContaining('tomorrow'),
        retryAfterSeconds: 5 * 3_600,
      });
      await send(8);
      expect(await refusal(1)).toMatchObject({ details: { limit: 20, used: 20, requested: 1 } });
      expect(await used()).toEqual({ '2026-01-05': 20 });
      expect(await readCounters(db, tenant.organizationId)).toEqual({ emails: 2, accepted: 20 });
      expect(await domain()).toMatchObject({ warming_started_at: new Date(START) });
    });

    it('again each UTC day, with the limit of that day', async () => {
      await send(20);
      clock.set('2026-01-05T23:59:59.999Z');
      expect(await refusal(1)).toMatchObject({ details: { limit: 20, used: 20 }, retryAfterSeconds: 1 });
      clock.set('2026-01-06T00:00:00.000Z');
      await send(40);
      expect(await refusal(1)).toMatchObject({ details: { limit: 40, used: 40 } });
      clock.set('2026-01-08T12:00:00.000Z');
      await send(50);
      expect(await used()).toEqual({ '2026-01-05': 20, '2026-01-06': 40, '2026-01-08': 50 });
    });

    it('no more after the last day of the schedule', async () => {
      await send(1);
      clock.advance(34 * DAY);
      await Promise.all([send(50), send(50)]);
      expect(await used()).toEqual({ '2026-01-05': 1 });
    });

    it('not of mail that is replayed, suppressed, refused or in test mode', async () => {
      await send(5, { key: 'once' });
      await expect(send(5, { key: 'once' })).resolves.toMatchObject({ replayed: true });
      expect(await used()).toEqual({ '2026-01-05': 5 });
      for (const email of to(3)) await addSuppression(db, tenant, { email, reason: 'manual' });
      await send(4);
      expect(await used()).toEqual({ '2026-01-05': 6 });
      expect(await refusal(3)).toMatchObject({ code: 'recipient_suppressed' });
      expect(await refusal(18)).toMatchObject({ details: { requested: 15, used: 6 } });
      await core.get(SendEmailsService).sendOne(sendBody({ to: to(30) }), undefined, tenant.as('test'));
      expect(await used()).toEqual({ '2026-01-05': 6 });
    });

    it('not of transactions that fail', async () => {
      await send(2);
      jest.spyOn(core.get(Database), 'transaction').mockRejectedValueOnce(new Error('rolled back'));
      await expect(send(3)).rejects.toThrow('rolled back');
      expect(await used()).toEqual({ '2026-01-05': 2 });
    });

    it('not of transactions that have written nothing because the database was away', async () => {
      await send(2);
      jest.spyOn(core.get(Database), 'transaction').mockRejectedValueOnce(new UnavailableError());
      await expect(send(3)).rejects.toMatchObject({ code: 'service_unavailable' });
      expect(await used()).toEqual({ '2026-01-05': 2 });
    });

    it('of transactions that may have failed or not', async () => {
      await send(2);
      jest.spyOn(core.get(Database), 'transaction').mockRejectedValueOnce(new CommitUnknownError(new Error('lost')));
      await expect(send(3)).rejects.toMatchObject({ code: 'service_unavailable' });
      expect(await used()).toEqual({ '2026-01-05': 5 });
    });

    it('for each domain by itself', async () => {
      const first = tenant;
      await send(20);
      tenant = await createTenant(db);
      await send(20);
      tenant = first;
      expect(await refusal(1)).toMatchObject({ code: 'sending_limit_exceeded' });
    });
  });

  it('does not begin with an email that is refused', async () => {
    expect(await refusal(21)).toMatchObject({ details: { limit: 20, used: 0, requested: 21 } });
    expect(await domain()).toMatchObject({ warming_status: 'not_started', warming_started_at: null });
    expect(await used()).toEqual({ '2026-01-05': 0 });
  });

  it('refuses single items of a batch, whichever no longer fit', async () => {
    const bodies = [8, 10, 5, 2, 1].map((count) => sendBody({ to: to(count) }));
    const { results } = await core.get(SendEmailsService).sendBatch(bodies, undefined, tenant.as('live'));
    expect(results.map((result) => (result.kind === 'refused' ? result.details : result.status))).toEqual([
      'queued',
      'queued',
      expect.objectContaining({ limit: 20, used: 18, requested: 5 }),
      'queued',
      expect.objectContaining({ limit: 20, used: 20, requested: 1 }),
    ]);
    expect(await countEmails(db, tenant.organizationId)).toBe(3);
    expect(await used()).toEqual({ '2026-01-05': 20 });
  });

  it('runs no statement for a warmed-up domain', async () => {
    await db.query("update domains set warming_status = 'warmed' where id = $1", [tenant.domainId]);
    const statements = jest.spyOn(core.get(Database), 'run');
    await send(50);
    expect(statements.mock.calls.map(([{ name }]) => name)).not.toContain('reserve-recipients');
    expect(await used()).toEqual({});
  });

  it.each([
    ['in local mode', {}],
    ['when it is switched off', { ...RELAY, WARMUP_ENABLED: 'false' }],
  ])('does not apply %s', async (_when, env) => {
    const other = await startCore(db.url, { clock, env });
    await send(50, { on: other });
    expect(await domain()).toMatchObject({ warming_status: 'not_started' });
    expect(
      other.get(WarmUpService).currentLimit({ warmingStatus: 'warming', warmingStartedAt: clock.now() }),
    ).toBeNull();
    await other.close();
  });

  it('returns the limit of today', () => {
    const limitOf = (warmingStatus: 'not_started' | 'warming' | 'warmed' | 'paused', daysAgo: number) =>
      core.get(WarmUpService).currentLimit({
        warmingStatus,
        warmingStartedAt: warmingStatus === 'not_started' ? null : new Date(clock.now().getTime() - daysAgo * DAY),
      });
    expect(limitOf('not_started', 0)).toBe(20);
    expect(limitOf('warming', 6)).toBe(1_280);
    expect(limitOf('warming', 34)).toBeNull();
    expect(limitOf('paused', 6)).toBe(0);
    expect(limitOf('warmed', 0)).toBeNull();
  });

  describe('under many senders at once', () => {
    it('accepts exactly the limit, from several processes', async () => {
      const other = await startCore(db.url, { clock, env: RELAY });
      const sends = Array.from({ length: 60 }, (_, index) => refusal(1, index % 2 === 0 ? core : other));
      const refusals = (await Promise.all(sends)).filter((error) => error !== undefined);
      expect(new Set(refusals.map((error) => error.code))).toEqual(new Set(['sending_limit_exceeded']));
      expect(refusals).toHaveLength(40);
      expect(await readCounters(db, tenant.organizationId)).toEqual({ emails: 20, accepted: 20 });
      expect(await used()).toEqual({ '2026-01-05': 20 });
      await other.close();
    });

    it('never accepts more, whatever the sizes, and counts what it accepts', async () => {
      const other = await startCore(db.url, { clock, env: RELAY });
      const tenants = await Promise.all(Array.from({ length: 4 }, () => createTenant(db)));
      await db.query("update domains set warming_status = 'warming', warming_started_at = $1 where id = any($2)", [
        new Date(clock.now().getTime() - 2 * DAY),
        tenants.map(({ domainId }) => domainId),
      ]);
      const submit = (index: number) =>
        (index % 2 === 0 ? core : other).get(SendEmailsService).sendBatch(
          [1 + (index % 7), 3, 1 + (index % 5)].map((count) => sendBody({ to: to(count) })),
          undefined,
          (tenants[index % 4] as Tenant).as('live'),
        );
      await Promise.all(Array.from({ length: 120 }, (_, index) => submit(index)));
      for (const { organizationId, domainId } of tenants) {
        const { accepted = 0 } = await readCounters(db, organizationId);
        expect(accepted).toBeLessThanOrEqual(80);
        expect(accepted).toBeGreaterThan(60);
        const [row] = await db.query('select recipients from warm_up_usage where domain_id = $1', [domainId]);
        expect(row).toEqual({ recipients: accepted });
      }
      await other.close();
    });

    it('does not wait for uncommitted transactions', async () => {
      await send(1);
      const other = await startCore(db.url, { clock, env: RELAY });
      const database = other.get(Database);
      const transaction = database.transaction.bind(database);
      const hold = gate();
      const written = gate();
      jest.spyOn(database, 'transaction').mockImplementationOnce((work) =>
        transaction(async (tx) => {
          const answer = await work(tx);
          written.open();
          await hold.opened;
          return answer;
        }),
      );
      const slow = send(10, { on: other });
      await written.opened;
      await send(5);
      expect(await refusal(5)).toMatchObject({ details: { limit: 20, used: 16, requested: 5 } });
      hold.open();
      await slow;
      await other.close();
      expect(await used()).toEqual({ '2026-01-05': 16 });
    });
  });

  it('gives back later what it cannot give back at once', async () => {
    await send(5, { key: 'once' });
    const database = core.get(Database);
    const run = database.run.bind(database);
    const spy = jest
      .spyOn(database, 'run')
      .mockImplementation((statement) =>
        statement.name === 'return-recipients' ? Promise.reject(new Error('away')) : run(statement),
      );
    await send(5, { key: 'once' });
    expect(await used()).toEqual({ '2026-01-05': 10 });
    spy.mockRestore();
    await send(1);
    expect(await used()).toEqual({ '2026-01-05': 6 });
  });
});

function gate() {
  let open: () => void = () => undefined;
  const opened = new Promise<void>((resolve) => (open = resolve));
  return { open, opened };
}
