import { newId } from '../../src/common/ids';
import type { Mode } from '../../src/common/tenant';
import type { Queryable } from './tenants';

export interface StoredFields {
  readonly organizationId: string;
  readonly mode?: Mode;
  readonly to: readonly string[];
  readonly cc?: readonly string[];
  readonly bcc?: readonly string[];
  readonly subject?: string;
  /** Null: the content is no longer kept. */
  readonly html?: string | null;
  readonly text?: string | null;
  readonly status?: string;
  /** Events after the first one, which is `queued`. */
  readonly events?: readonly { readonly type: string; readonly data: object }[];
}

/** Stores an email with all its events, and returns its id. */
export async function storeEmail(db: Queryable, fields: StoredFields): Promise<string> {
  const id = newId();
  const { organizationId, mode = 'live', to, cc = [], bcc = [], events = [] } = fields;
  const { subject = 'Hello', html = null, text = 'Hello there', status = 'delivered' } = fields;
  const key = [organizationId, mode, id];
  await db.query(
    `insert into emails (organization_id, mode, id, domain_id, status, from_email, subject, to_emails, cc_emails, bcc_emails,
       category, track_opens, track_clicks, event_sequence, created_at, updated_at)
     values ($1, $2, $3, $1, $4, 'shop@acme.example', $5, $6, $7, $8, 'transactional', false, false, $9, now(), now())`,
    [...key, status, subject, to, cc.length > 0 ? cc : null, bcc.length > 0 ? bcc : null, events.length + 1],
  );
  if (html !== null || text !== null) {
    await db.query(
      `insert into email_contents (organization_id, mode, email_id, html, text, addressees)
       values ($1, $2, $3, $4, $5, '{"to": [], "cc": [], "replyTo": []}')`,
      [...key, html, text],
    );
  }
  const recipients = [...label('to', to), ...label('cc', cc), ...label('bcc', bcc)];
  for (const [position, { kind, address }] of recipients.entries()) {
    await db.query(
      `insert into email_recipients (organization_id, mode, email_id, position, kind, address, status, updated_at)
       values ($1, $2, $3, $4, $5, $6, $7, now())`,
      [...key, position, kind, address, status],
    );
  }
  for (const [index, { type, data }] of [{ type: 'queued', data: {} }, ...events].entries()) {
    await db.query(
      `insert into email_events (organization_id, mode, email_id, sequence, id, event_type, source, occurred_at, data)
       values ($1, $2, $3, $4, $5, $6, 'smtp', now(), $7)`,
      [...key, index + 1, newId(), type, JSON.stringify(data)],
    );
  }
  return id;
}

function label(kind: string, addresses: readonly string[]) {
  return addresses.map((address) => ({ kind, address }));
}

/** Stores emails of the live mode to one recipient, with two events each, all of the last hour. */
export async function storeManyEmails(
  db: Queryable,
  { organizationId, to, count }: { organizationId: string; to: string; count: number },
): Promise<void> {
  await db.query(
    `with given as (
       select $1::uuid as organization_id, (left(uuid_v7_floor(now() - interval '1 hour')::text, 14)
         || '7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid as id, n
       from generate_series(1, $2::int) n
     ), emails as (
       insert into emails (organization_id, mode, id, domain_id, status, from_email, subject, to_emails, category,
         track_opens, track_clicks, event_sequence, created_at, updated_at)
       select organization_id, 'live', id, organization_id, 'delivered', 'shop@acme.example', 'Mail ' || n, array[$3],
         'transactional', false, false, 2, now(), now()
       from given
     ), contents as (
       insert into email_contents (organization_id, mode, email_id, text, addressees)
       select organization_id, 'live', id, repeat('Hello ' || n || ' ', 100), '{"to": [], "cc": [], "replyTo": []}'
       from given
     ), events as (
       insert into email_events (organization_id, mode, email_id, sequence, id, event_type, source, occurred_at, data)
       select organization_id, 'live', id, s, gen_random_uuid(), 'sent', 'smtp', now(), jsonb_build_object('recipient', $3)
       from given cross join generate_series(1, 2) s
     )
     insert into email_recipients (organization_id, mode, email_id, position, kind, address, status, updated_at)
     select organization_id, 'live', id, 0, 'to', $3, 'delivered', now() from given`,
    [organizationId, count, to],
  );
}
