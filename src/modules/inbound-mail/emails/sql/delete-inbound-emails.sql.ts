// How inbound mail goes: with its age, by its customer, or with the person that it names.
import type { Statement } from '../../../../database/statements/statement';
import { type InboundEmailKey, ROW_BYTES } from '../inbound-email';

/** What messages took of their organizations' room is free again. */
const UNCOUNTED = `uncounted as (
    update inbound_usage u
    set emails = u.emails - g.emails, bytes = u.bytes - g.bytes
    from (
      select organization_id, count(*) as emails, sum(size_bytes + ${ROW_BYTES}) as bytes from gone group by organization_id
    ) g
    where u.organization_id = g.organization_id
  )
  select 1 as deleted from gone`;

// Deletes up to $2 messages that came before $1, oldest first, with their parts.
// Writes: inbound_emails (index inbound_emails_age), inbound_email_parts, inbound_usage. Locks: the rows, skip locked; then
// the organizations' counts. Rows: up to $2. Not the ORM: a bounded delete over three tables.
const DELETE_OLD = `
  with old as materialized (
    select organization_id, mode, id
    from inbound_emails
    where received_at < $1
    order by received_at
    limit $2
    for update skip locked
  ), parts as (
    delete from inbound_email_parts p
    using old
    where p.organization_id = old.organization_id and p.mode = old.mode and p.email_id = old.id
  ), gone as (
    delete from inbound_emails e
    using old
    where e.organization_id = old.organization_id and e.mode = old.mode and e.id = old.id
    returning e.organization_id, e.size_bytes
  ), ${UNCOUNTED}`;

export function deleteOldInboundEmails(before: Date, limit: number): Statement<{ deleted: 1 }> {
  return { name: 'delete-old-inbound-emails', text: DELETE_OLD, values: [before, limit] };
}

// Deletes messages with their parts.
// Writes: all three tables (primary keys). Locks: the rows in the order of their ids, then the organization's count. Rows: one
// page of an erasure. Not the ORM: a delete over three tables.
const DELETE_ALL = `
  with wanted as materialized (
    select organization_id, mode, id
    from inbound_emails
    where organization_id = $1 and mode = $2 and id = any($3::uuid[])
    order by id
    for update
  ), parts as (
    delete from inbound_email_parts p
    using wanted w
    where p.organization_id = w.organization_id and p.mode = w.mode and p.email_id = w.id
  ), gone as (
    delete from inbound_emails e
    using wanted w
    where e.organization_id = w.organization_id and e.mode = w.mode and e.id = w.id
    returning e.organization_id, e.size_bytes
  ), ${UNCOUNTED}`;

export function deleteInboundEmails(
  { organizationId, mode }: Pick<InboundEmailKey, 'organizationId' | 'mode'>,
  ids: readonly string[],
): Statement<{ deleted: 1 }> {
  return { name: 'delete-inbound-emails', text: DELETE_ALL, values: [organizationId, mode, ids] };
}

// Deletes one message, with its parts, when it is of this domain or $4 is null.
// Writes: all three tables (primary keys). Locks: the row, then the organization's count. Rows: 1.
// Not the ORM: a delete over three tables.
const DELETE_ONE = `
  with gone as (
    delete from inbound_emails
    where organization_id = $1 and mode = $2 and id = $3 and domain_id = coalesce($4::uuid, domain_id)
    returning organization_id, mode, id, size_bytes
  ), parts as (
    delete from inbound_email_parts p
    using gone
    where p.organization_id = gone.organization_id and p.mode = gone.mode and p.email_id = gone.id
  ), ${UNCOUNTED}`;

export function deleteInboundEmail({ organizationId, mode, id }: InboundEmailKey, domainId?: string) {
  const values = [organizationId, mode, id, domainId ?? null];
  return { name: 'delete-inbound-email', text: DELETE_ONE, values } satisfies Statement<unknown> as Statement<{
    deleted: 1;
  }>;
}
