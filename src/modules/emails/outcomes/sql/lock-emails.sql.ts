// Locks the emails that outcomes are about; the row's lock orders all writers of one email.
// Reads: emails (primary key). Locks: rows in primary-key order, for no-key update. Rows: the emails of one batch.
// Not the ORM: a batch of keys in one round trip.
import type { Statement } from '../../../../database/statement';
import type { EmailKey } from '../../../../delivery/ports/delivery';
import type { EmailState, RecipientState } from '../email-state';

export type LockedEmail = Omit<EmailState, 'recipients'>;

const LOCK = `
  select
    e.organization_id as "organizationId",
    e.mode,
    e.id as "emailId",
    e.domain_id as "domainId",
    e.status,
    e.event_sequence as "eventSequence",
    e.scheduled_for as "scheduledFor"
  from unnest($1::uuid[], $2::text[], $3::uuid[]) as wanted (organization_id, mode, id)
  join emails e using (organization_id, mode, id)
  order by e.organization_id, e.mode, e.id
  for no key update of e`;

export function lockEmails(emails: readonly EmailKey[]): Statement<LockedEmail> {
  return { name: 'lock-emails', text: LOCK, values: keyColumns(emails) };
}

// All recipients of the locked emails. A statement of its own: its snapshot is taken after the locks were granted.
// Reads: email_recipients (primary key). Locks: none (the email's lock covers them). Rows: the recipients of one batch.
// Not the ORM: a batch of keys in one round trip.

export type LoadedRecipient = RecipientState & { emailId: string };

const LOAD = `
  select
    r.email_id as "emailId",
    r.position,
    r.address,
    r.seen,
    r.status,
    r.attempts,
    r.last_response as "lastResponse"
  from unnest($1::uuid[], $2::text[], $3::uuid[]) as wanted (organization_id, mode, email_id)
  join email_recipients r using (organization_id, mode, email_id)`;

export function loadRecipients(emails: readonly EmailKey[]): Statement<LoadedRecipient> {
  return { name: 'load-recipients', text: LOAD, values: keyColumns(emails) };
}

/** The three columns that name emails. */
export function keyColumns(emails: readonly EmailKey[]): unknown[] {
  return [
    emails.map((email) => email.organizationId),
    emails.map((email) => email.mode),
    emails.map((email) => email.emailId),
  ];
}
