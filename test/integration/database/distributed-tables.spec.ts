import { Database } from '../../../src/database/pool/database.service';
import { EventsService } from '../../../src/modules/events/events.service';
import { SendEmailsService } from '../../../src/modules/emails/accept/send-emails.service';
import { OutcomeRecorder } from '../../../src/modules/emails/outcomes/outcome-recorder.service';
import { FAKE_CITUS } from '../../doubles/fake-citus';
import { recordedOutcome } from '../../factories/outcomes';
import { insertEvents } from '../../factories/feed-events';
import { sendBody } from '../../factories/send-requests';
import { readStoredEmail } from '../../factories/stored-email';
import { createTenant } from '../../factories/tenants';
import { type Core, startCore } from '../../setup/core-context';
import { type OpenTestDatabase, openTestDatabase } from '../../setup/open-test-database';

describe('where the large tables are distributed', () => {
  let db: OpenTestDatabase;
  let core: Core;

  beforeAll(async () => {
    db = await openTestDatabase({ poolSize: 3 });
    await db.query(FAKE_CITUS);
    await db.query(`insert into pg_dist_partition
      select i.inhrelid, 'h' from pg_inherits i where i.inhparent in ('emails'::regclass, 'email_events'::regclass)
      union all values ('emails'::regclass, 'h'), ('email_events'::regclass, 'h')`);
    core = await startCore(db.url);
  });
  beforeEach(() => db.query('truncate citus_calls, citus_answers'));
  afterAll(async () => {
    await core.close();
    await db.drop();
  });

  const calls = async () =>
    (await db.query<{ call: string }>('select call from citus_calls order by place')).map(({ call }) => call);
  const add = (month: string, maxBytes: number) =>
    db.query<{ result: string }>(`select add_month_partition('emails', $1::date, $2) as result`, [month, maxBytes]);

  it('processes detect it at their start', () => {
    expect(core.get(Database).isDistributed).toBe(true);
    expect(core.get(Database).rowSecurity).toMatchObject({ state: 'unavailable' });
  });

  it('a new month is distributed beside its table while it is empty, and then takes in its rows', async () => {
    const tenant = await createTenant(db);
    const { emailId } = await insertEvents(db, tenant, ['queued']);
    const id = '0fffffff-ffff-7000-8000-000000000001';
    await db.query('update emails set id = $1 where id = $2', [id, emailId]);
    const month = '2527-06-01';
    expect(await add(month, 6)).toEqual([{ result: 'too_large' }]);
    expect(await add(month, 7)).toEqual([{ result: 'created' }]);
    expect(await calls()).toEqual([
      'size of emails_default',
      'size of emails_default',
      'emails_2527_06 by organization_id beside emails, , empty: t',
    ]);
    expect(await db.query('select tableoid::regclass::text as place from emails where id = $1', [id])).toEqual([
      { place: 'emails_2527_06' },
    ]);
  });

  it('a month of a table that is not distributed is made as elsewhere', async () => {
    await db.query(`select add_month_partition('email_contents', '2527-06-01', 0)`);
    expect(await calls()).toEqual([]);
  });

  it('the feed waits for a transaction that is prepared on a node and runs nowhere, until it is committed', async () => {
    const feed = core.get(EventsService);
    const { organizationId, ...tenant } = await createTenant(db);
    const { eventIds } = await insertEvents(db, { ...tenant, organizationId }, ['queued', 'sent']);
    const read = async () => {
      const [page = []] = await feed.readAfter([{ organizationId, mode: 'live', after: NIL }], 10);
      return page.map(({ id }) => id);
    };
    const prepared = (agoSeconds: number) =>
      db.query(
        `insert into citus_answers values (true, '[]'), (true, jsonb_build_array(jsonb_build_object(
           'gid', 'citus_0_' || 2147483647 || '_7_1', 'at', extract(epoch from clock_timestamp()) - $1::float8))::text)`,
        [agoSeconds],
      );
    expect(await read()).toEqual(eventIds);
    await prepared(2);
    expect(await read()).toEqual([]);
    await db.query('truncate citus_answers');
    expect(await read()).toEqual(eventIds);
    await db.query(`insert into citus_answers values (false, 'connection refused')`);
    await expect(read()).rejects.toMatchObject({ code: 'service_unavailable' });
  });

  it('a prepared transaction of a process that still runs counts by its start', async () => {
    const writer = db.dataSource.createQueryRunner();
    await writer.startTransaction();
    const [{ pid }] = (await writer.query('select pg_backend_pid() as pid')) as [{ pid: number }];
    await db.query(
      `insert into citus_answers select true, jsonb_build_array(jsonb_build_object(
         'gid', format('citus_0_%s_7_1', $1::int), 'at', extract(epoch from clock_timestamp())))::text`,
      [pid],
    );
    const [behind] = await db.query(
      `select event_horizon() < uuid_v7_floor(clock_timestamp() - interval '30 seconds') as "isFar"`,
    );
    await writer.rollbackTransaction();
    await writer.release();
    expect(behind).toEqual({ isFar: false });
  });

  it('outcomes of several tenants are written by one statement each', async () => {
    const tenants = [await createTenant(db), await createTenant(db)];
    const ids = await Promise.all(
      tenants.map(async (tenant) => {
        const { accepted } = await core.get(SendEmailsService).sendOne(sendBody({}), undefined, tenant.as('live'));
        return accepted.id;
      }),
    );
    const outcomes = tenants.map((tenant, n) => recordedOutcome(tenant, ids[n] as string, { kind: 'delivered' }));
    await core.get(Database).transaction((tx) => core.get(OutcomeRecorder).record(outcomes, tx));
    for (const id of ids) {
      const { email, recipients, events } = await readStoredEmail(db, id);
      expect([email.status, recipients[0]?.status]).toEqual(['delivered', 'delivered']);
      expect(events.map(({ event_type }) => event_type)).toEqual(['queued', 'sent', 'delivered']);
    }
  });

  // A node's complaint about one row arrives without its code when rows are copied to it.
  it('one email that a node refuses does not sink those beside it, nor look like an outage', async () => {
    await db.query(`
      create function refuse() returns trigger language plpgsql as $$ begin
        raise exception 'new row for relation "emails_102010" violates check constraint' using errcode = 'XX000';
      end $$;
      create trigger refuse before insert on emails for each row when (new.subject = 'Bad') execute function refuse()`);
    const tenant = await createTenant(db);
    const send = (subject: string) =>
      core.get(SendEmailsService).sendOne(sendBody({ subject }), undefined, tenant.as('live'));
    const results = await Promise.allSettled(['Good', 'Bad', 'Good'].map(send));
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect((results[1] as PromiseRejectedResult).reason).not.toMatchObject({ code: 'service_unavailable' });
  });
});

const NIL = '00000000-0000-0000-0000-000000000000';
