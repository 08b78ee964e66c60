// Locks the emails that outcomes are about; the row's lock orders all writers of one email.
// Reads: emails (primary key). Locks: rows in primary-key order, for no-key update. Rows: the emails of one batch.
// Not the ORM: a batch of keys in one round trip.
import type { EmailKey } from '../../../delivery/ports/delivery';
import type { Statement } from '../../../database/statement';
import type { EmailState } from '../outcomes/email-state';

export type LockedEmail = Omit<EmailState, 'recipients'>;

const TEXT = `
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
  return { name: 'lock-emails', text: TEXT, values: keyColumns(emails) };
}

/** The three columns that name emails. */
export function keyColumns(emails: readonly EmailKey[]): unknown[] {
  return [
    emails.map((email) => email.organizationId),
    emails.map((email) => email.mode),
    emails.map((email) => email.emailId),
  ];
}
