import { DAY } from '../../../src/common/clock';
import { PeriodicJobs } from '../../../src/common/jobs/periodic-jobs';
import { newId } from '../../../src/common/ids';
import type { DeliveryOutcome, RecordedOutcome } from '../../../src/delivery/ports/outcome';
import { Database } from '../../../src/database/pool/database.service';
import type { Transaction } from '../../../src/database/statements/transaction';
import { OutcomeRecorder } from '../../../src/modules/emails/outcomes/outcome-recorder.service';
import { SendEmailsService } from '../../../src/modules/emails/accept/send-emails.service';
import { SuppressionsRepository } from '../../../src/modules/suppressions/suppressions.repository';
import { SuppressionListService } from '../../../src/modules/suppressions/suppression-list.service';
import { ClearSuppressionsJob } from '../../../src/modules/suppressions/clear-suppressions.job';
import { SuppressionsService } from '../../../src/modules/suppressions/suppressions.service';
import { FakeClock } from '../../doubles/fake-clock';
import { HARD_BOUNCE, recordedOutcome, SOFT_BOUNCE } from '../../factories/outcomes';
import { sendBody } from '../../factories/send-requests';
import { addSuppression, createTenant, type Tenant } from '../../factories/tenants';
import { type Core, startCore } from '../../setup/core-context';
import { type OpenTestDatabase, openTestDatabase, statement } from '../../setup/open-test-database';
import { waitFor } from '../../setup/wait-for';

const EMAIL = 'r0@x.example';

describe('soft bounces', () => {
  const clock = new FakeClock();
  let db: OpenTestDatabase;
  let core: Core;
  let tenant: Tenant;

  beforeAll(async () => {
    db = await openTestDatabase({ poolSize: 3 });
    core = await startCore(db.url, { clock });
  });
  beforeEach(async () => {
    tenant = await createTenant(db);
  });
  afterAll(async () => {
    await core.close();
    await db.drop();
  });

  const daysFromNow = (days: number) => new Date(clock.now().getTime() + days * DAY);
  const transaction = (work: (tx: Transaction) => Promise<void>) => core.get(Database).transaction(work);

  async function accept(mode: 'live' | 'test' = 'live'): Promise<string> {
    const submit = core.get(SendEmailsService).sendOne(sendBody({ to: [EMAIL] }), undefined, tenant.as(mode));
    return (await submit).accepted.id;
  }

  /** A further mail to the address ends like this. */
  async function end(outcome: DeliveryOutcome = SOFT_BOUNCE, fields: Partial<RecordedOutcome> = {}): Promise<string> {
    const id = await accept(fields.mode);
    await tell(id, outcome, fields);
    return id;
  }

  const tell = (id: string, outcome: DeliveryOutcome = SOFT_BOUNCE, fields: Partial<RecordedOutcome> = {}) =>
    transaction((tx) =>
      core
        .get(OutcomeRecorder)
        .record([recordedOutcome(tenant, id, outcome, { occurredAt: clock.now(), ...fields })], tx),
    );

  /** By themselves, without a mail. */
  const bounce = (at: Date, email = EMAIL) =>
    transaction((tx) => {
      const { organizationId } = tenant;
      core.get(SuppressionsService).recordSoftBounces([{ organizationId, mode: 'live', email, at }], tx);
      return Promise.resolve();
    });

  const suppressions = () =>
    db.query('select mode, email, reason, source, expires_at from suppressions where organization_id = $1', [
      tenant.organizationId,
    ]);
  const remembered = () =>
    db.query<{ bounced_at: Date[] }>('select bounced_at from soft_bounces where organization_id = $1', [
      tenant.organizationId,
    ]);

  const waiting = async () =>
    (await db.query("select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'"))
      .length > 0;

  it('suppress an address for 14 days with the third', async () => {
    await end();
    expect(await suppressions()).toEqual([]);
    clock.advance(DAY);
    await end(SOFT_BOUNCE, { source: 'dsn' });
    expect(await suppressions()).toEqual([]);
    clock.advance(DAY);
    await end();
    expect(await suppressions()).toEqual([
      { mode: 'live', email: EMAIL, reason: 'soft_bounce', source: 'automatic', expires_at: daysFromNow(14) },
    ]);
    await expect(accept()).rejects.toMatchObject({ code: 'recipient_suppressed' });
    clock.advance(14 * DAY);
    await accept();
  });

  it('count once for each mail, and not when they speak of the sender', async () => {
    const id = await end();
    await tell(id);
    await tell(id, SOFT_BOUNCE, { source: 'dsn' });
    await end({ ...SOFT_BOUNCE, reason: 'reputation' } as DeliveryOutcome);
    const exhausted = { reason: 'retries exhausted: rate-limited', lastReason: 'rate-limited' };
    await end({ ...SOFT_BOUNCE, ...exhausted } as DeliveryOutcome);
    expect(await remembered()).toEqual([{ bounced_at: [clock.now()] }]);
    await end({ kind: 'delivered' });
    await end(HARD_BOUNCE);
    expect(await suppressions()).toMatchObject([{ reason: 'hard_bounce' }]);
    expect(await remembered()).toHaveLength(1);
  });

  it.each([
    [30, 1],
    [31, 0],
  ])('of which the third comes on day %i make %i suppression', async (day, count) => {
    await bounce(daysFromNow(0));
    await bounce(daysFromNow(1), EMAIL.toUpperCase());
    await bounce(daysFromNow(day));
    expect(await suppressions()).toHaveLength(count);
  });

  it('count in whatever order they are recorded', async () => {
    await bounce(daysFromNow(31));
    await bounce(daysFromNow(0));
    await bounce(daysFromNow(5));
    expect(await remembered()).toEqual([{ bounced_at: [daysFromNow(5), daysFromNow(31)] }]);
    await bounce(daysFromNow(2));
    expect(await suppressions()).toMatchObject([{ expires_at: daysFromNow(31 + 14) }]);
  });

  it('are remembered as far as they count', async () => {
    for (const day of [0, 1, 2, 3, 4]) await bounce(daysFromNow(day));
    expect(await remembered()).toEqual([{ bounced_at: [daysFromNow(2), daysFromNow(3), daysFromNow(4)] }]);
    expect(await suppressions()).toMatchObject([{ expires_at: daysFromNow(4 + 14) }]);
  });

  it('of one transaction count together', async () => {
    const ids = [await accept(), await accept(), await accept()];
    const told = ids.map((id) => recordedOutcome(tenant, id, SOFT_BOUNCE, { occurredAt: clock.now() }));
    await transaction((tx) => core.get(OutcomeRecorder).record(told, tx));
    expect(await suppressions()).toHaveLength(1);
  });

  it('of two transactions at once count one after the other', async () => {
    await bounce(daysFromNow(0));
    let second: Promise<void> | undefined;
    await transaction(async (tx) => {
      const { organizationId } = tenant;
      const row = { organizationId, mode: 'live', email: EMAIL, at: daysFromNow(1) } as const;
      core.get(SuppressionsService).recordSoftBounces([row], tx);
      await tx.run(statement('select'));
      second = bounce(daysFromNow(2));
      await waitFor(() => waiting(), { what: 'the second transaction to wait for the first' });
    });
    await second;
    expect(await suppressions()).toMatchObject([{ expires_at: daysFromNow(2 + 14) }]);
  });

  it('count for each mode by itself', async () => {
    await end();
    await end();
    await end(SOFT_BOUNCE, { mode: 'test' });
    expect(await suppressions()).toEqual([]);
    await end();
    expect(await suppressions()).toMatchObject([{ mode: 'live' }]);
  });

  it('replace an entry that has expired, and leave one in force its date', async () => {
    const since = async () => db.query('select id, suppressed_at from suppressions where email = $1', ['x@x.example']);
    await addSuppression(db, tenant, { email: 'x@x.example', reason: 'soft_bounce', expiresAt: daysFromNow(-1) });
    const [expired] = await since();
    for (let n = 0; n < 3; n += 1) await bounce(clock.now(), 'x@x.example');
    const [first] = await since();
    expect(first?.id).not.toBe(expired?.id);
    expect(first?.suppressed_at).toEqual(clock.now());
    clock.advance(DAY);
    await bounce(clock.now(), 'x@x.example');
    expect(await since()).toEqual([first]);
  });

  it('are forgotten when the operator takes the address off the list', async () => {
    for (let n = 0; n < 3; n += 1) await bounce(clock.now());
    const reasons = await core.get(SuppressionListService).removeByOperator(tenant.as('live'), EMAIL);
    expect(reasons).toEqual(['soft_bounce']);
    await bounce(clock.now());
    expect(await suppressions()).toEqual([]);
  });

  it('are cleared with long-expired suppressions once they count no more', async () => {
    const removal = new ClearSuppressionsJob(core.get(SuppressionsRepository), core.get(PeriodicJobs), clock);
    await bounce(daysFromNow(0), 'old@x.example');
    await bounce(daysFromNow(1), 'new@x.example');
    await addSuppression(db, tenant, { email: 'a@x.example', reason: 'soft_bounce', expiresAt: daysFromNow(0) });
    await addSuppression(db, tenant, { email: 'b@x.example', reason: 'soft_bounce', expiresAt: daysFromNow(1) });
    await addSuppression(db, tenant, { email: 'c@x.example', reason: 'manual' });
    clock.advance(30 * DAY + 1);
    await Promise.all([removal.run(), removal.run()]);
    expect(await remembered()).toEqual([{ bounced_at: [daysFromNow(-29)].map((at) => new Date(at.getTime() - 1)) }]);
    expect((await suppressions()).map(({ email }) => email).sort()).toEqual(['b@x.example', 'c@x.example']);
  });

  it('of an unknown mail leave no trace', async () => {
    await tell(newId());
    expect(await remembered()).toEqual([]);
  });
});
