import type { PoolClient } from 'pg';
import { newId } from '../../../src/common/ids';
import { poolOf } from '../../../src/database/data-source';
import type { Statement } from '../../../src/database/statement';
import { withdrawRecipients } from '../../../src/delivery/queue/sql/withdraw-deliveries.sql';
import { addressPattern } from '../../../src/modules/emails/privacy/address-pattern';
import { eraseEmails } from '../../../src/modules/emails/privacy/sql/erase-emails.sql';
import { eraseEvents } from '../../../src/modules/emails/privacy/sql/erase-events.sql';
import { eraseRecipients } from '../../../src/modules/emails/privacy/sql/erase-emails.sql';
import { findReceived } from '../../../src/modules/emails/privacy/sql/find-erasable.sql';
import { findSenders } from '../../../src/modules/emails/privacy/sql/find-erasable.sql';
import { explainPrepared } from '../../setup/explain';
import { type OpenTestDatabase, openTestDatabase } from '../../setup/open-test-database';

const ORGANIZATION = newId();
const ANN = 'r7@x.example';
const SUBJECT = {
  organizationId: ORGANIZATION,
  mode: 'live' as const,
  keys: [ANN],
  pattern: addressPattern(ANN),
};
const ALL = { after: '00000000-0000-0000-0000-000000000000', lastId: 'ffffffff-ffff-ffff-ffff-ffffffffffff' };

/** One email in a thousand is the subject's. */
const EMAILS = `
  with made as (
    insert into emails (
      organization_id, mode, id, domain_id, status, from_email, subject, to_emails, category, track_opens, track_clicks,
      event_sequence, created_at, updated_at
    )
    select $1, 'live', event_id(now() - n * interval '1 minute', n), gen_random_uuid(), 'delivered', 'a@acme.example', 's',
      array['r' || n % 1000 || '@x.example'], 'transactional', false, false, 1, now(), now()
    from generate_series(1, 20000) n
    returning id, to_emails
  ), events as (
    insert into email_events (organization_id, mode, email_id, sequence, id, event_type, source, occurred_at, data)
    select $1, 'live', id, 1, event_id(now(), 1), 'queued', 'api', now(), '{}' from made
  )
  insert into email_recipients (organization_id, mode, email_id, position, kind, address, status, updated_at)
  select $1, 'live', id, 0, 'to', to_emails[1], 'delivered', now() from made`;

describe('among many emails', () => {
  let db: OpenTestDatabase;
  let client: PoolClient | undefined;
  let named: { emailId: string; position: number }[];
  beforeAll(async () => {
    db = await openTestDatabase({ poolSize: 1 });
    await db.query(EMAILS, [ORGANIZATION]);
    await db.query('vacuum analyze emails, email_recipients, email_events');
    const rows = await db.query('select email_id from email_recipients where address = $1 limit 10', [ANN]);
    named = rows.map((row) => ({ emailId: row.email_id, position: 0 }));
    client = await poolOf(db.dataSource).connect();
  });
  afterAll(async () => {
    client?.release();
    await db.drop();
  });

  const keys = () => named.map((email) => ({ organizationId: ORGANIZATION, mode: 'live' as const, ...email }));

  it.each<[string, number, () => Statement<unknown>]>([
    ['finding those of a subject', 20, () => findReceived(SUBJECT, ALL, 10)],
    ['looking for senders', 100, () => findSenders(SUBJECT, ALL, 100)],
    ['withdrawing', 10, () => withdrawRecipients(keys())],
    ['erasing recipients', 10, () => eraseRecipients(SUBJECT, named)],
    ['erasing emails', 10, () => eraseEmails(SUBJECT, named, new Date())],
    ['erasing events', 10, () => eraseEvents(SUBJECT, named)],
  ])('%s touches only the rows asked for', async (_name, rows, make) => {
    const plan = await explainPrepared(client as PoolClient, make());
    const scans = plan.filter((node) => node['Relation Name'] !== undefined && node['Node Type'].includes('Scan'));
    expect(scans.filter((node) => node['Node Type'] === 'Seq Scan')).toEqual([]);
    const touched = scans.map((node) => {
      const once = (node['Actual Rows'] ?? 0) + (node['Rows Removed by Filter'] ?? 0);
      return once * (node['Actual Loops'] ?? 1);
    });
    expect(Math.max(0, ...touched)).toBeLessThanOrEqual(rows);
  });
});
