import fc from 'fast-check';
import { MINUTE } from '../../../src/common/clock';
import { Database } from '../../../src/database/pool/database.service';
import type { DeliveryOutcome, RecordedOutcome } from '../../../src/delivery/ports/outcome';
import { DeliveryQueueRepository } from '../../../src/delivery/queue/delivery-queue.repository';
import { WorkerSessionsRepository } from '../../../src/delivery/queue/worker-sessions.repository';
import { EmailsService } from '../../../src/modules/emails/emails.service';
import { OutcomeRecorder } from '../../../src/modules/emails/outcomes/outcome-recorder.service';
import { RecentStreams } from '../../../src/modules/events/recent-streams.service';
import { SendEmailsService } from '../../../src/modules/emails/accept/send-emails.service';
import { StatsService } from '../../../src/modules/stats/stats.service';
import { newId } from '../../../src/common/ids';
import { Claimer } from '../../../src/delivery/worker/claims/claimer';
import { SystemClock } from '../../../src/common/clock';
import { openPlanner } from '../../factories/deliveries';
import { anyOutcome, DEFERRED, HARD_BOUNCE, OCCURRED_AT, recordedOutcome, SOFT_BOUNCE } from '../../factories/outcomes';
import { sendBody } from '../../factories/send-requests';
import { readCounters, readStoredEmail } from '../../factories/stored-email';
import { createTenant, type Tenant } from '../../factories/tenants';
import { type Core, startCore } from '../../setup/core-context';
import { type OpenTestDatabase, openTestDatabase } from '../../setup/open-test-database';

describe('recording outcomes', () => {
  let db: OpenTestDatabase;
  let core: Core;
  let recorder: OutcomeRecorder;
  let tenant: Tenant;

  beforeAll(async () => {
    db = await openTestDatabase({ poolSize: 5 });
    core = await startCore(db.url);
    recorder = core.get(OutcomeRecorder);
  });
  beforeEach(async () => {
    tenant = await createTenant(db);
  });
  afterAll(async () => {
    await core.close();
    await db.drop();
  });

  async function accept(recipients = 1, owner = tenant): Promise<string> {
    const to = Array.from({ length: recipients }, (_, position) => `r${position}@x.example`);
    const { accepted } = await core.get(SendEmailsService).sendOne(sendBody({ to }), undefined, owner.as('live'));
    return accepted.id;
  }

  const record = (outcomes: readonly RecordedOutcome[]) =>
    core.get(Database).transaction((tx) => recorder.record(outcomes, tx));

  const tell = (emailId: string, outcome: DeliveryOutcome, fields: Partial<RecordedOutcome> = {}) =>
    record([recordedOutcome(tenant, emailId, outcome, fields)]);

  const suppressions = ({ organizationId }: Tenant) =>
    db.query('select mode, email, reason, source from suppressions where organization_id = $1 order by email, reason', [
      organizationId,
    ]);

  /** All that must not depend on the order in which outcomes arrive. */
  async function lasting(owner: Tenant, emailId: string) {
    const { email, recipients, events } = await readStoredEmail(db, emailId);
    const { status, open_count, click_count, sent_at, delivered_at, bounced_at, failed_at } = email;
    return {
      email: { status, open_count, click_count, sent_at, delivered_at, bounced_at, failed_at },
      recipients: recipients.map(({ position, status, seen, attempts }) => ({ position, status, seen, attempts })),
      // A permanent bounce is one more event when it comes after a temporary one, and none when it comes before.
      events: events
        .filter(({ event_type, data }) => !(event_type === 'bounced' && data.duplicate === true))
        .map(({ event_type, data }) => `${event_type} ${data.recipient}`)
        .sort(),
      counters: await readCounters(db, owner.organizationId),
      suppressions: await suppressions(owner),
    };
  }

  it('names the organizations that had some, for those who follow the event log', async () => {
    const emailId = await accept();
    await tell(emailId, DEFERRED);
    const { organizationId } = tenant;
    expect(core.get(RecentStreams).list()).toContainEqual({ organizationId, mode: 'live' });
  });

  describe('in any order', () => {
    const history = fc.array(fc.tuple(fc.nat({ max: 2 }), anyOutcome, fc.nat({ max: 20 })), { maxLength: 10 });
    const orders = history.chain((list) =>
      fc.record({
        list: fc.constant(list),
        shuffled: fc.shuffledSubarray(list, { minLength: list.length }),
        /** How many go into one transaction. */
        chunk: fc.integer({ min: 1, max: 4 }),
      }),
    );

    it('leads to the same rows and the same counters', async () => {
      await fc.assert(
        fc.asyncProperty(orders, async ({ list, shuffled, chunk }) => {
          const [one, other] = [await createTenant(db), await createTenant(db)];
          const [first, second] = [await accept(3, one), await accept(3, other)];
          const toOutcomes = (owner: Tenant, emailId: string, entries: typeof list) =>
            entries.map(([position, outcome, minutes]) => {
              const occurredAt = new Date(OCCURRED_AT.getTime() + minutes * MINUTE);
              // A claim carries no attempt yet.
              const attempt = outcome.kind === 'sending' ? undefined : 1;
              return recordedOutcome(owner, emailId, outcome, { position, occurredAt, attempt });
            });
          await record(toOutcomes(one, first, list));
          const rest = toOutcomes(other, second, shuffled);
          while (rest.length > 0) await record(rest.splice(0, chunk));
          expect(await lasting(other, second)).toEqual(await lasting(one, first));
        }),
        { numRuns: 40 },
      );
    });
  });

  it('loses nothing when several outcomes of the same email are recorded at once', async () => {
    const id = await accept(3);
    const opened = Array.from({ length: 60 }, (_, n) =>
      tell(id, { kind: 'opened' }, { position: n % 3, attempt: undefined }),
    );
    const others = [0, 1, 2].flatMap((position) => [
      tell(id, { kind: 'sending' }, { position }),
      tell(id, DEFERRED, { position, attempt: 1 }),
      tell(id, { kind: 'delivered' }, { position, attempt: 2 }),
    ]);
    await Promise.all([...opened, ...others]);
    const { email, events, recipients } = await readStoredEmail(db, id);
    // queued, 60 opened, and for each of three: sending, deferred, sent, delivered.
    expect(events.map(({ sequence }) => sequence)).toEqual(Array.from({ length: 73 }, (_, n) => n + 1));
    expect(email).toMatchObject({ status: 'delivered', open_count: 60, event_sequence: 73 });
    expect(recipients).toMatchObject([0, 1, 2].map(() => ({ status: 'delivered', attempts: 2 })));
    expect(await readCounters(db, tenant.organizationId)).toEqual({
      emails: 1,
      accepted: 3,
      sent: 3,
      delivered: 3,
      deferred: 3,
      opens: 3,
    });
  });

  it('never deadlocks over batches of the same emails in opposite order', async () => {
    const ids = await Promise.all(Array.from({ length: 20 }, () => accept()));
    const clicked = ids.map((id) => recordedOutcome(tenant, id, { kind: 'clicked' }));
    let attempts = 0;
    const recordOnce = (outcomes: readonly RecordedOutcome[]) =>
      core.get(Database).transaction((tx) => {
        attempts += 1;
        return recorder.record(outcomes, tx);
      });
    for (let round = 0; round < 20; round += 1) {
      await Promise.all([recordOnce(clicked), recordOnce([...clicked].reverse())]);
    }
    expect(attempts).toBe(40);
    const rows = await db.query('select click_count from emails where organization_id = $1', [tenant.organizationId]);
    expect(rows).toEqual(ids.map(() => ({ click_count: 40 })));
  });

  it('counts the same as the events', async () => {
    const ids = await Promise.all(Array.from({ length: 30 }, () => accept(2)));
    const history = fc.sample(fc.tuple(fc.nat({ max: 1 }), anyOutcome), { numRuns: 200, seed: 7 });
    const outcomes = history.map(([position, outcome], n) =>
      recordedOutcome(tenant, ids[n % ids.length]!, outcome, { position }),
    );
    while (outcomes.length > 0) await record(outcomes.splice(0, 25));
    const unfolded = await readCounters(db, tenant.organizationId);
    await Promise.all([core.get(StatsService).fold(), core.get(StatsService).fold()]);
    expect(await db.query('select from stats_deltas')).toEqual([]);
    expect(await readCounters(db, tenant.organizationId)).toEqual(unfolded);
    const [recount] = await db.query(
      `select
         count(distinct email_id)::int as emails,
         (select count(*)::int from email_recipients where organization_id = $1) as accepted,
         count(distinct (email_id, data ->> 'recipient')) filter (where event_type = 'sent' or also_sent)::int as sent,
         count(distinct (email_id, data ->> 'recipient')) filter (where event_type = 'delivered')::int as delivered,
         count(distinct (email_id, data ->> 'recipient')) filter (where event_type = 'bounced')::int as bounced,
         count(*) filter (where event_type = 'failed')::int as failed,
         count(*) filter (where event_type in ('deferred', 'unknown'))::int as deferred,
         count(*) filter (where event_type = 'spam_report')::int as complaints,
         count(*) filter (where event_type = 'unsubscribed')::int as unsubscribes,
         count(distinct (email_id, data ->> 'recipient'))
           filter (where event_type = 'opened' and not data ? 'automated')::int as opens,
         count(distinct (email_id, data ->> 'recipient'))
           filter (where event_type = 'clicked' and not data ? 'automated')::int as clicks
       from email_events where organization_id = $1`,
      [tenant.organizationId],
    );
    expect(unfolded).toEqual(recount);
  });

  describe('suppresses', () => {
    it('addresses that bounce for good, complain or unsubscribe', async () => {
      const id = await accept(5);
      await tell(id, HARD_BOUNCE, { position: 0 });
      await tell(id, { kind: 'spam_report' }, { position: 1, source: 'feedback_loop' });
      await tell(id, { kind: 'unsubscribed' }, { position: 2, source: 'tracking' });
      await tell(id, SOFT_BOUNCE, { position: 3 });
      await tell(id, { kind: 'delivered' }, { position: 4 });
      const automatic = { mode: 'live', source: 'automatic' };
      expect(await suppressions(tenant)).toEqual([
        { ...automatic, email: 'r0@x.example', reason: 'hard_bounce' },
        { ...automatic, email: 'r1@x.example', reason: 'spam_complaint' },
        { ...automatic, email: 'r2@x.example', reason: 'unsubscribe' },
      ]);
    });

    it('once, also an address that bounced softly before', async () => {
      const id = await accept();
      await tell(id, SOFT_BOUNCE);
      await tell(id, HARD_BOUNCE, { source: 'dsn' });
      await tell(id, HARD_BOUNCE, { source: 'dsn' });
      expect(await suppressions(tenant)).toHaveLength(1);
    });
  });

  describe('counts by receiver what comes by mail', () => {
    const COMPANY = 'company-example.mail.protection.outlook.com';
    const MAILBOX = 'mx01.mail.icloud.com';
    const forwarded = { ...HARD_BOUNCE, smtp: { code: 550, mxHost: 'gmail-smtp-in.l.google.com' } } as DeliveryOutcome;

    /** Bounces and complaints by receiver, in the order of `PROVIDER_COUNTERS`. */
    const counted = async () =>
      Object.fromEntries(
        (
          await db.query(
            `select provider, sum((counts ->> 3)::int)::int as bounced, sum((counts ->> 5)::int)::int as complaints
             from stats_deltas cross join lateral jsonb_each(by_provider) as p (provider, counts)
             where organization_id = $1 group by provider having sum((counts ->> 3)::int + (counts ->> 5)::int) > 0`,
            [tenant.organizationId],
          )
        ).map(({ provider, bounced, complaints }) => [provider, [bounced, complaints]]),
      );

    it('as that of the mail exchanger which had taken the mail, of each recipient', async () => {
      const id = await accept(2);
      await tell(id, { kind: 'delivered', smtp: { mxHost: COMPANY } });
      await tell(id, { kind: 'delivered', smtp: { mxHost: MAILBOX } }, { position: 1 });
      await tell(id, forwarded, { source: 'dsn' });
      await tell(id, { kind: 'spam_report' }, { source: 'feedback_loop', position: 1 });
      expect(await counted()).toEqual({ 'microsoft-365': [1, 0], apple: [0, 1] });
    });

    it('as that of the host which the report names, when a relay had taken it', async () => {
      const id = await accept();
      await tell(id, { kind: 'sent', smtp: { mxHost: COMPANY } });
      await tell(id, { kind: 'delivered', smtp: { mxHost: COMPANY } }, { source: 'dsn' });
      await tell(id, forwarded, { source: 'dsn' });
      expect(await counted()).toEqual({ google: [1, 0] });
    });

    it("as that of the recipient's domain, when nothing is known", async () => {
      const id = await accept();
      await tell(id, HARD_BOUNCE, { source: 'dsn' });
      expect(await counted()).toEqual({ other: [1, 0] });
    });
  });

  it('leaves unknown emails and those of others alone', async () => {
    const id = await accept();
    const other = await createTenant(db);
    await record([recordedOutcome(other, id, HARD_BOUNCE), recordedOutcome(tenant, newId(), HARD_BOUNCE)]);
    await tell(id, HARD_BOUNCE, { mode: 'test' });
    await tell(id, HARD_BOUNCE, { position: 7 });
    expect((await readStoredEmail(db, id)).email).toMatchObject({ status: 'queued', event_sequence: 1 });
    expect(await suppressions(tenant)).toEqual([]);
    expect(await suppressions(other)).toEqual([]);
  });

  describe('of a cancellation', () => {
    const cancel = (id: string) => core.get(EmailsService).cancel(tenant.as('live'), id);

    it('ends all recipients', async () => {
      const id = await accept(2);
      await cancel(id);
      const { email, recipients, events, deliveries } = await readStoredEmail(db, id);
      expect(deliveries).toEqual([]);
      expect(email).toMatchObject({ status: 'failed', failed_at: expect.any(Date) });
      expect(recipients).toMatchObject([{ status: 'failed' }, { status: 'failed' }]);
      expect(events.map(({ event_type, source }) => [event_type, source])).toEqual([
        ['queued', 'api'],
        ['cancelled', 'api'],
        ['cancelled', 'api'],
      ]);
      await expect(cancel(id)).rejects.toMatchObject({ code: 'email_not_cancellable' });
    });

    it('takes all recipients or none', async () => {
      const id = await accept(2);
      await db.query(`update deliveries set state = 'claimed' where email_id = $1 and position = 1`, [id]);
      await expect(cancel(id)).rejects.toMatchObject({ code: 'email_not_cancellable' });
      const { email, deliveries } = await readStoredEmail(db, id);
      expect(deliveries).toHaveLength(2);
      expect(email).toMatchObject({ status: 'queued', event_sequence: 1 });
    });

    it('and of a claim: one of the two, never both', async () => {
      const sessionId = newId();
      await new WorkerSessionsRepository(db.database, db.database).begin(sessionId, 'host', 1, 300);
      await db.query('delete from deliveries');
      const clock = new SystemClock();
      const claimer = new Claimer(
        new DeliveryQueueRepository(db.database),
        { weights: () => Promise.resolve(new Map()) },
        openPlanner(clock),
        clock,
      );
      const outcomes = { cancelled: 0, claimed: 0 };
      for (let round = 0; round < 100; round += 1) {
        const id = await accept(2);
        const claim = async () => {
          for (let turn = 0; turn < round % 10; turn += 1) await new Promise((resolve) => setImmediate(resolve));
          return claimer.claim(sessionId, { limit: 10 });
        };
        const [cancelled, claims] = await Promise.all([
          cancel(id).then(
            () => true,
            (error: { code?: string }) => error.code !== 'email_not_cancellable',
          ),
          claim(),
        ]);
        const { email, events, deliveries } = await readStoredEmail(db, id);
        const types = new Set(events.map(({ event_type }) => event_type));
        expect({ round, cancelled: types.has('cancelled') }).toEqual({ round, cancelled });
        expect(email.status).toBe(cancelled ? 'failed' : 'queued');
        expect(claims.length > 0).toBe(!cancelled);
        expect(deliveries).toHaveLength(cancelled ? 0 : 2);
        outcomes[cancelled ? 'cancelled' : 'claimed'] += 1;
        await db.query('delete from deliveries');
      }
      expect(outcomes.cancelled).toBeGreaterThan(0);
      expect(outcomes.claimed).toBeGreaterThan(0);
    });
  });
});
