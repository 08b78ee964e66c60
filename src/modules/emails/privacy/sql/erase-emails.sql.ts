// What emails say of people, beside their contents, before a subject is removed from it.
// Reads: emails (primary key). Locks: none beyond those of lock-emails. Rows: one batch of an erasure.
// Not the ORM: a batch of keys.
import type { Statement } from '../../../../database/statement';
import type { ErasedSubject } from './erased.sql';

/** As the columns are called, so that it can be written back as a record. */
export interface EmailHead {
  subject: string;
  to_emails: string[];
  cc_emails: string[] | null;
  bcc_emails: string[] | null;
  from_email: string;
  from_name: string | null;
  reply_to: string[] | null;
  tags: string[] | null;
  metadata: unknown;
}

export interface FoundHead {
  readonly id: string;
  readonly head: EmailHead;
}

const COLUMNS = 'subject, to_emails, cc_emails, bcc_emails, from_email, from_name, reply_to, tags, metadata';

const READ_HEADS = `
  select e.id, (select to_jsonb(h) from (select ${COLUMNS.replace(/\w+/g, 'e.$&')}) h) as head
  from unnest($3::uuid[]) as given (id)
  join emails e on e.organization_id = $1 and e.mode = $2 and e.id = given.id`;

export function readHeads({ organizationId, mode }: ErasedSubject, emailIds: readonly string[]): Statement<FoundHead> {
  return { name: 'read-erasable-heads', text: READ_HEADS, values: [organizationId, mode, emailIds] };
}

// Writes them back.
// Writes: emails (primary key). Locks: none beyond those of lock-emails. Rows: one batch of an erasure.
// Not the ORM: arrays and JSON by the batch.

const WRITE_HEADS = `
  update emails e
  set (${COLUMNS}, updated_at) = (${COLUMNS.replace(/\w+/g, 'h.$&')}, $5)
  from unnest($3::uuid[], $4::text[]) as given (id, head)
  cross join lateral jsonb_to_record(given.head::jsonb) as h (
    subject text, to_emails text[], cc_emails text[], bcc_emails text[], from_email text, from_name text, reply_to text[],
    tags text[], metadata jsonb
  )
  where e.organization_id = $1 and e.mode = $2 and e.id = given.id`;

export function writeHeads(
  { organizationId, mode }: ErasedSubject,
  heads: readonly FoundHead[],
  now: Date,
): Statement<never> {
  const texts = heads.map(({ head }) => JSON.stringify(head));
  return {
    name: 'write-erased-heads',
    text: WRITE_HEADS,
    values: [organizationId, mode, heads.map(({ id }) => id), texts, now],
  };
}

// The recipients of emails, with what servers have said about them.
// Reads: email_recipients (range of the primary key). Locks: none beyond those of the emails. Rows: those of one batch.
// Not the ORM: a batch of keys.

export interface ErasableRecipient {
  readonly emailId: string;
  readonly position: number;
  readonly address: string;
  readonly lastResponse: string | null;
}

const READ_RECIPIENTS = `
  select r.email_id as "emailId", r.position, r.address, r.last_response as "lastResponse"
  from unnest($3::uuid[]) as given (id)
  join email_recipients r on r.organization_id = $1 and r.mode = $2 and r.email_id = given.id`;

export function readErasableRecipients(
  { organizationId, mode }: ErasedSubject,
  emailIds: readonly string[],
): Statement<ErasableRecipient> {
  return { name: 'read-erasable-recipients', text: READ_RECIPIENTS, values: [organizationId, mode, emailIds] };
}

// Writes the changed ones back.
// Writes: email_recipients (primary key). Locks: none beyond those of the emails. Rows: one batch of an erasure.
// Not the ORM: a batch of keys.

const WRITE_RECIPIENTS = `
  update email_recipients r
  set address = given.address, last_response = given.last_response
  from unnest($3::uuid[], $4::smallint[], $5::text[], $6::text[]) as given (email_id, position, address, last_response)
  where r.organization_id = $1 and r.mode = $2 and r.email_id = given.email_id and r.position = given.position`;

export function writeRecipients(
  { organizationId, mode }: ErasedSubject,
  rows: readonly ErasableRecipient[],
): Statement<never> {
  return {
    name: 'write-erased-recipients',
    text: WRITE_RECIPIENTS,
    values: [
      organizationId,
      mode,
      rows.map((row) => row.emailId),
      rows.map((row) => row.position),
      rows.map((row) => row.address),
      rows.map((row) => row.lastResponse),
    ],
  };
}
