import { HOUR } from '../../../src/common/clock';
import { Database } from '../../../src/database/pool/database.service';
import { EmailsService } from '../../../src/modules/emails/emails.service';
import { OutcomeRecorder } from '../../../src/modules/emails/outcomes/outcome-recorder.service';
import { SendEmailsService } from '../../../src/modules/emails/accept/send-emails.service';
import { StatsCheckService } from '../../../src/modules/emails/outcomes/stats-check.service';
import { asSending, type DeliveryOutcome } from '../../../src/delivery/ports/outcome';
import { OCCURRED_AT, recordedOutcome } from '../../factories/outcomes';
import { sendBody } from '../../factories/send-requests';
import { createTenant, type Tenant } from '../../factories/tenants';
import { type Core, startCore } from '../../setup/core-context';
import { type OpenTestDatabase, openTestDatabase } from '../../setup/open-test-database';

const DELIVERED: DeliveryOutcome = { kind: 'delivered', smtp: { code: 250, response: '250 2.0.0 Ok' } };
const TIMELINE = [
  ['queued', 1],
  ['sending', 2],
  ['sent', 3],
  ['delivered', 4],
];

describe('the events of a mail that is delivered at once', () => {
  let db: OpenTestDatabase;
  let core: Core;
  let tenant: Tenant;

  beforeAll(async () => {
    db = await openTestDatabase({ poolSize: 5 });
    core = await startCore(db.url);
    tenant = await createTenant(db);
  });
  afterAll(async () => {
    await core.close();
    await db.drop();
  });

  /** As the worker records the result of a first attempt. */
  async function deliver(by = core) {
    const { accepted } = await by.get(SendEmailsService).sendOne(sendBody(), undefined, tenant.as('live'));
    const outcome = recordedOutcome(tenant, accepted.id, DELIVERED);
    const begun = asSending({ ...outcome, claimedAt: new Date(OCCURRED_AT.getTime() - 250) });
    await by.get(Database).transaction((tx) => by.get(OutcomeRecorder).record([begun, outcome], tx));
    return accepted.id;
  }

  const rowsOf = async (id: string) =>
    (await db.query<{ type: string }>('select event_type as type from email_events where email_id = $1', [id])).map(
      ({ type }) => type,
    );
  const timelineOf = (id: string) => core.get(EmailsService).events(tenant.as('live'), id);

  it('have one row after the acceptance, and are all shown', async () => {
    const id = await deliver();
    expect(await rowsOf(id)).toEqual(['queued', 'delivered']);
    const events = await timelineOf(id);
    expect(events.map(({ eventType, sequence }) => [eventType, sequence])).toEqual(TIMELINE);
    const [, sending, sent, delivered] = events;
    expect(sending).toMatchObject({ source: 'worker', data: { recipient: 'r0@x.example' } });
    expect(Number(delivered?.occurredAt) - Number(sending?.occurredAt)).toBe(250);
    expect(sent).toMatchObject({ source: 'smtp', occurredAt: delivered?.occurredAt, data: delivered?.data });
    expect(new Set(events.map((event) => event.id)).size).toBe(4);
  });

  it('are counted like those with rows of their own', async () => {
    await deliver();
    const from = new Date(Math.floor(OCCURRED_AT.getTime() / HOUR) * HOUR);
    const { drifts, compared } = await core.get(StatsCheckService).check({ from, to: new Date(from.getTime() + HOUR) });
    expect(drifts).toEqual([]);
    expect(compared).toBeGreaterThan(0);
  });

  it('have a row each until processes of the release before have been replaced', async () => {
    await db.query(`
      create or replace function compact_events_since() returns timestamptz language sql immutable
      as $$ select '2100-01-01'::timestamptz $$`);
    const upgraded = await startCore(db.url);
    const id = await deliver(upgraded);
    await upgraded.close();
    expect(await rowsOf(id)).toEqual(['queued', 'sending', 'sent', 'delivered']);
    expect((await timelineOf(id)).map(({ eventType, sequence }) => [eventType, sequence])).toEqual(TIMELINE);
  });
});
