// Reads the personal data of emails outside their contents, before a subject is removed.
// Reads: emails (primary key). Locks: none; lock-emails has locked them. Rows: one batch of an erasure.
// Not the ORM: a batch of keys.
import type { Statement } from '../../../../database/statements/statement';
import type { ErasedSubject } from './erased.sql';

/** Named like the columns, as the statement returns them. */
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

/** In any order; deleted emails have no row. */
export function readHeads({ organizationId, mode }: ErasedSubject, emailIds: readonly string[]): Statement<FoundHead> {
  return { name: 'read-erasable-heads', text: READ_HEADS, values: [organizationId, mode, emailIds] };
}

// Writes one head back.
// Writes: emails (primary key). Locks: none; lock-emails has locked the row. Rows: one.
// One statement per email: a batch of JSON would need functions that are not immutable, which an update of distributed rows must not
// use (docs/scaling.md).
// Not the ORM: arrays as parameters, sent without waiting for the previous statement.

const WRITE_HEAD = `
  update emails e
  set
    subject = $5, to_emails = $6, cc_emails = $7, bcc_emails = $8, from_email = $9, from_name = $10, reply_to = $11,
    tags = $12, metadata = $13::text::jsonb, updated_at = $4
  where e.organization_id = $1 and e.mode = $2 and e.id = $3`;

/** Sets all columns of the head. */
export function writeHead(
  { organizationId, mode }: ErasedSubject,
  { id, head }: FoundHead,
  now: Date,
): Statement<never> {
  const senders = [head.from_email, head.from_name, head.reply_to];
  const metadata = head.metadata === null ? null : JSON.stringify(head.metadata);
  const recipients = [head.to_emails, head.cc_emails, head.bcc_emails];
  return {
    name: 'write-erased-head',
    text: WRITE_HEAD,
    values: [organizationId, mode, id, now, head.subject, ...recipients, ...senders, head.tags, metadata],
  };
}

// Reads the recipients of emails, with the last replies of their servers.
// Reads: email_recipients (range of the primary key). Locks: none; the emails are locked. Rows: those of one batch.
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

/** Returns all recipients of the emails, not only the subject, in any order. */
export function readErasableRecipients(
  { organizationId, mode }: ErasedSubject,
  emailIds: readonly string[],
): Statement<ErasableRecipient> {
  return { name: 'read-erasable-recipients', text: READ_RECIPIENTS, values: [organizationId, mode, emailIds] };
}

// Writes changed recipients back.
// Writes: email_recipients (primary key). Locks: the rows; the emails are locked. Rows: one batch of an erasure.
// Not the ORM: a batch of keys.

const WRITE_RECIPIENTS = `
  update email_recipients r
  set address = given.address, last_response = given.last_response
  from unnest($3::uuid[], $4::smallint[], $5::text[], $6::text[]) as given (email_id, position, address, last_response)
  where r.organization_id = $1 and r.mode = $2 and r.email_id = given.email_id and r.position = given.position
    and r.email_id = any ($3)`;

/** @param rows with the new address and reply; status and counters stay */
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
