import type { Tenant } from '../../../../common/tenant';
import type { Statement } from '../../../../database/statements/statement';
import type { EmailKey } from '../../../../delivery/ports/delivery';
import type { EmailState, RecipientState } from '../email-state';
import { ERASED_SENDER } from '../erased-recipient';

// Locks those of a tenant's emails that outcomes concern; the row lock serializes all writers of an email.
// Reads: emails (primary key). Locks: the rows, in primary-key order, for no-key update. Several tenants take one statement each, in
// the order of `groupByTenant`. Rows: the emails of one batch.
// One tenant per statement: a batch across tenants cannot lock rows where tenants are on several nodes (docs/scaling.md). The
// lateral subquery is evaluated key by key, in order, whatever the planner's statistics: a join may scan the tenant's rows
// first.
// Not the ORM: a batch of keys in one round trip.
export type LockedEmail = Omit<EmailState, 'recipients'>;

const LOCK = `
  select locked.*
  from unnest($3::uuid[]) as wanted (id)
  cross join lateral (
    select
      e.organization_id as "organizationId",
      e.mode,
      e.id as "emailId",
      e.domain_id as "domainId",
      e.status,
      e.event_sequence as "eventSequence",
      e.scheduled_for as "scheduledFor",
      (e.from_email like 'erased@%' and e.from_name is null)
        or coalesce(e.reply_to @> array['${ERASED_SENDER}'], false) as "isSenderErased"
    from emails e
    where e.organization_id = $1 and e.mode = $2 and e.id = wanted.id
    for no key update of e
  ) locked`;

/** In the order of ids; unknown emails have no row. @param emailIds each once, in any order */
export function lockEmails({ organizationId, mode }: Tenant, emailIds: readonly string[]): Statement<LockedEmail> {
  return { name: 'lock-emails', text: LOCK, values: [organizationId, mode, [...emailIds].sort()] };
}

// Loads all recipients of a tenant's locked emails. A separate statement, so that its snapshot is taken after the locks.
// Reads: email_recipients (primary key). Locks: none (the email's lock covers them). Rows: the recipients of one batch.
// Not the ORM: a batch of keys in one round trip.

export type LoadedRecipient = RecipientState & { emailId: string };

const LOAD = `
  select found.*
  from unnest($3::uuid[]) as wanted (id)
  cross join lateral (
    select
      r.email_id as "emailId",
      r.position,
      r.address,
      r.seen,
      r.status,
      r.attempts,
      r.last_response as "lastResponse"
    from email_recipients r
    where r.organization_id = $1 and r.mode = $2 and r.email_id = wanted.id
    offset 0
  ) found`;

/** @param emailIds locked by `lockEmails` */
export function loadRecipients(
  { organizationId, mode }: Tenant,
  emailIds: readonly string[],
): Statement<LoadedRecipient> {
  return { name: 'load-recipients', text: LOAD, values: [organizationId, mode, emailIds] };
}

// Finds the mail exchangers that accepted a tenant's emails, when reports about these emails come later. Results of the worker do
// not need it.
// Reads: email_events (primary key; the events of each email). Locks: none; the emails are locked. Rows: the deliveries of the
// emails of one batch of reports.
// Not the ORM: a batch of keys in one round trip.
export interface DeliveredTo {
  readonly emailId: string;
  readonly recipient: string;
  readonly mxHost: string;
}

// Only events of `smtp`: notifications of a relay name hosts that this service has not connected to.
const FIND = `
  select found.*
  from unnest($3::uuid[]) as wanted (id)
  cross join lateral (
    select e.email_id as "emailId", e.data ->> 'recipient' as recipient, e.data ->> 'mxHost' as "mxHost"
    from email_events e
    where e.organization_id = $1 and e.mode = $2 and e.email_id = wanted.id and e.event_type = 'delivered'
      and e.source = 'smtp' and e.data ? 'mxHost'
    order by e.sequence
  ) found`;

/** In the order of an email's events: the last row of a recipient is the newest. */
export function findDeliveredTo({ organizationId, mode }: Tenant, emailIds: readonly string[]): Statement<DeliveredTo> {
  return { name: 'find-delivered-to', text: FIND, values: [organizationId, mode, [...new Set(emailIds)]] };
}

// Finds a complaint about an email as a whole.
// Reads: email_events (primary key). Locks: none. Rows: 0 or 1, of one email's events.
// Not the ORM: a condition on the event's JSON.
const TEXT = `
  select 1 as found
  from email_events
  where organization_id = $1 and mode = $2 and email_id = $3 and event_type = 'spam_report'
    and data ->> 'recipient' is null
  limit 1`;

/** Returns one row or none. */
export function findComplaint({ organizationId, mode, emailId }: EmailKey): Statement<{ found: 1 }> {
  return { name: 'find-complaint', text: TEXT, values: [organizationId, mode, emailId] };
}
