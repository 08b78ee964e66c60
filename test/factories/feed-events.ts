import { newId } from '../../src/common/ids';
import type { Mode } from '../../src/common/tenant';
import type { Queryable } from './tenants';

export interface FeedEventFields {
  readonly mode?: Mode;
  readonly domainId?: string;
  readonly tags?: string[];
  readonly metadata?: object;
  /** When they are recorded; by default now. */
  readonly recordedAt?: Date;
}

/** An email of an organization with events of these types, recorded one after another; returns their ids. */
export async function insertEvents(
  db: Queryable,
  owner: { organizationId: string; domainId: string },
  types: readonly string[],
  fields: FeedEventFields = {},
): Promise<{ emailId: string; eventIds: string[] }> {
  const { mode = 'live', domainId = owner.domainId, tags = null, metadata = null, recordedAt = null } = fields;
  const emailId = newId();
  await db.query(
    `insert into emails (
       organization_id, mode, id, domain_id, status, from_email, subject, to_emails, tags, metadata, category,
       track_opens, track_clicks, event_sequence, created_at, updated_at
     )
     values ($1, $2, $3, $4, 'queued', 'a@x.example', 'Hi', '{r@x.example}', $5, $6, 'transactional', true, true, 1, now(), now())`,
    [owner.organizationId, mode, emailId, domainId, tags, metadata && JSON.stringify(metadata)],
  );
  const rows = await db.query(
    `insert into email_events (organization_id, mode, email_id, sequence, id, event_type, source, occurred_at, data)
     select $1, $2, $3, n, event_id(coalesce($5, clock_timestamp()), n), type, 'smtp', now(), '{"recipient": "r@x.example"}'
     from unnest($4::text[]) with ordinality as given (type, n)
     returning id`,
    [owner.organizationId, mode, emailId, types, recordedAt],
  );
  // The feed shows what a millisecond brings from the next one on; and two emails of one would mix their events.
  await db.query('select pg_sleep(0.002)');
  return { emailId, eventIds: rows.map(({ id }: { id: string }) => id) };
}
