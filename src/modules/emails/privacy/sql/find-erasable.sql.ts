// The next deliveries to a subject, in the order of the emails.
// Reads: email_recipients (index email_recipients_address), emails (primary key). Locks: none. Rows: up to $6.
// Not the ORM: the index is on an expression, and the page is by key.
import type { Statement } from '../../../../database/statement';
import type { ErasedSubject } from './erased.sql';

export interface ReceivedRow {
  emailId: string;
  position: number;
  address: string;
  domainId: string;
}

/** A page of emails by id: after the one, up to and with the other. */
export interface IdPage {
  readonly after: string;
  readonly lastId: string;
}

const RECEIVED = `
  select r.email_id as "emailId", r.position, r.address, e.domain_id as "domainId"
  from email_recipients r
  join emails e on e.organization_id = r.organization_id and e.mode = r.mode and e.id = r.email_id
  where lower(r.address) = any($3) and r.organization_id = $1 and r.mode = $2 and r.email_id > $4 and r.email_id <= $5
  order by r.email_id, r.position
  limit $6`;

export function findReceived(
  { organizationId, mode, keys }: ErasedSubject,
  { after, lastId }: IdPage,
  limit: number,
): Statement<ReceivedRow> {
  return { name: 'find-received', text: RECEIVED, values: [organizationId, mode, keys, after, lastId, limit] };
}

// Which emails of a page were sent by a subject, or ask for replies to it.
// Reads: emails (range of the primary key). Locks: none. Rows: examines up to $6.
// Not the ORM: one page of all emails, of which hardly any is returned.

export interface SenderPage {
  ids: string[];
  /** The last email of the page; null when there was none. */
  lastId: string | null;
}

const SENDERS = `
  with page as materialized (
    select id, from_email, reply_to
    from emails
    where organization_id = $1 and mode = $2 and id > $4 and id <= $5
    order by id
    limit $6
  )
  select
    array(
      select id::text
      from page
      where lower(from_email) = any($3) or exists (select 1 from unnest(reply_to) a where lower(a) = any($3))
    ) as ids,
    (select id from page order by id desc limit 1) as "lastId"`;

export function findSenders(
  { organizationId, mode, keys }: ErasedSubject,
  { after, lastId }: IdPage,
  limit: number,
): Statement<SenderPage> {
  return { name: 'find-senders', text: SENDERS, values: [organizationId, mode, keys, after, lastId, limit] };
}
