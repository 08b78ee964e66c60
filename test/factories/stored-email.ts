import { expandEvents } from '../../src/modules/events/event-rows';
import type { Queryable } from './tenants';

/** All rows that one email has, as the driver reads them; of a row that records several events, a row for each. */
export interface StoredEmail {
  email: Record<string, any>;
  content: Record<string, any>;
  recipients: Record<string, any>[];
  deliveries: Record<string, any>[];
  events: Record<string, any>[];
  attachments: Record<string, any>[];
}

/** All of them as of one moment: every commit that changes any of them writes the email's own row. */
export async function readStoredEmail(db: Queryable, id: string): Promise<StoredEmail> {
  for (;;) {
    const before = await versionOf(db, id);
    const stored = await readTables(db, id);
    if (before === (await versionOf(db, id))) return stored;
  }
}

async function versionOf(db: Queryable, id: string): Promise<string | undefined> {
  const [row] = await db.query('select xmin::text as version from emails where id = $1', [id]);
  return row?.version;
}

async function readTables(db: Queryable, id: string): Promise<StoredEmail> {
  const rows = async (table: string, order: string): Promise<Record<string, any>[]> =>
    db.query(`select * from ${table} where email_id = $1 order by ${order}`, [id]);
  const [email] = await db.query('select * from emails where id = $1', [id]);
  const [content] = await rows('email_contents', 'email_id');
  return {
    email,
    content: content ?? {},
    recipients: await rows('email_recipients', 'position'),
    deliveries: await rows('deliveries', 'position'),
    events: expandRows(await rows('email_events', 'sequence')),
    attachments: await rows('email_attachments', 'position'),
  };
}

function expandRows(rows: Record<string, any>[]): Record<string, any>[] {
  const named = rows.map(({ event_type, occurred_at, sending_ms, also_sent, ...row }) => ({
    ...(row as { id: string; sequence: number; source: string; data: Record<string, unknown> }),
    ...{ eventType: event_type, occurredAt: occurred_at, sendingMs: sending_ms, alsoSent: also_sent },
  }));
  return expandEvents(named).map(({ eventType, occurredAt, sendingMs: _ms, alsoSent: _sent, ...event }) => ({
    ...event,
    ...{ event_type: eventType, occurred_at: occurredAt },
  }));
}

/** How many emails there are, of one organization or of all. */
export async function countEmails(db: Queryable, organizationId?: string): Promise<number> {
  const [row] = await db.query('select count(*)::int from emails where $1::uuid is null or organization_id = $1', [
    organizationId ?? null,
  ]);
  return row.count;
}

/** Counters of an organization: folded and not yet folded ones together, zeros left out. */
export async function readCounters(
  db: Queryable,
  organizationId: string,
  mode = 'live',
): Promise<Record<string, number>> {
  const names = ['emails', 'accepted', 'sent', 'delivered', 'bounced', 'failed', 'deferred', 'complaints'];
  names.push('unsubscribes', 'opens', 'clicks');
  const columns = names.map((name) => `coalesce(sum(${name}), 0)::int as ${name}`).join(', ');
  const [row] = await db.query(
    `select ${columns} from (
       select ${names.join(', ')} from stats_hourly where organization_id = $1 and mode = $2
       union all
       select ${names.join(', ')} from stats_deltas where organization_id = $1 and mode = $2
     ) all_counters`,
    [organizationId, mode],
  );
  return Object.fromEntries(Object.entries(row as Record<string, number>).filter(([, count]) => count !== 0));
}
