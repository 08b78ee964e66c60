// Finds the next deliveries to a subject, in the order of the emails.
// Reads: email_recipients (index email_recipients_address). Locks: none. Rows: up to $6.
// Not the ORM: the index is on an expression, and pages are by key. The lateral subquery runs for one form of the address at a time:
// for several at once the index gives no order, and a generic plan would scan all rows of the tenant by the primary key. What the
// index finds by a form may be another person's.
import { lowerFormsInIndex, lowerInSql } from '../../../../common/address-forms';
import type { Statement } from '../../../../database/statements/statement';
import { type ErasedSubject, IS_PLACEHOLDER } from './erased.sql';

export interface ReceivedRow {
  readonly emailId: string;
  readonly position: number;
  readonly address: string;
}

/** A page of emails by id: `after` exclusive, `lastId` inclusive. */
export interface IdPage {
  readonly after: string;
  readonly lastId: string;
}

const RECEIVED = `
  select r.email_id as "emailId", r.position, r.address
  from unnest($3::text[]) as k (key)
  cross join lateral (
    select email_id, position, address
    from email_recipients
    where lower(address) = k.key and ${lowerInSql('address')} = any ($7)
      and organization_id = $1 and mode = $2 and email_id > $4 and email_id <= $5
    order by email_id, position
    limit $6
  ) r
  order by r.email_id, r.position
  limit $6`;

/** A page may end within an email's deliveries. @param limit deliveries at most */
export function findReceived(
  { organizationId, mode, keys }: ErasedSubject,
  { after, lastId }: IdPage,
  limit: number,
): Statement<ReceivedRow> {
  const values = [organizationId, mode, lowerFormsInIndex(keys), after, lastId, limit, keys];
  return { name: 'find-received', text: RECEIVED, values };
}

// Finds the emails of a page that were sent by a subject, or have its address as reply-to.
// Reads: emails (range of the primary key). Locks: none. Rows: examines up to $6, returns up to $7.
// Not the ORM: scans one page of all emails, of which few are returned.

export interface SenderPage {
  /** In order. */
  ids: string[];
  /** The next page starts after it: the last examined email, or the last of `ids` when their limit is reached; null at the end. */
  lastId: string | null;
}

const SENDERS = `
  with page as materialized (
    select id,
      ${lowerInSql('from_email')} = any($3) or exists (select 1 from unnest(reply_to) a where ${lowerInSql('a')} = any($3)) as is_found
    from emails
    where organization_id = $1 and mode = $2 and id > $4 and id <= $5
    order by id
    limit $6
  ), found as (
    select id from page where is_found order by id limit $7
  )
  select
    array(select id::text from found order by id) as ids,
    (
      select id from page
      where (select count(*) from found) < $7 or id in (select id from found)
      order by id desc
      limit 1
    ) as "lastId"`;

/** Returns one row. @param limits `examined` and `found` emails at most */
export function findSenders(
  { organizationId, mode, keys }: Omit<ErasedSubject, 'finder'>,
  { after, lastId }: IdPage,
  limits: { readonly examined: number; readonly found: number },
): Statement<SenderPage> {
  const values = [organizationId, mode, keys, after, lastId, limits.examined, limits.found];
  return { name: 'find-senders', text: SENDERS, values };
}

// Measures how much work the erasure of emails takes: the bytes to search or delete, and whether there are other recipients.
// Reads: emails, email_contents, email_attachments, email_recipients (primary keys; of contents the lengths only).
// Locks: none. Rows: a batch of an erasure.
// Not the ORM: a batch of keys over four tables in one round trip.

export interface ErasableEmail {
  readonly emailId: string;
  readonly domainId: string;
  /** Size of bodies and attachments. */
  readonly bytes: number;
  /** Whether there are other recipients, who are not erased. */
  readonly isShared: boolean;
  readonly hasAttachments: boolean;
}

const MEASURE = `
  select
    e.id as "emailId",
    e.domain_id as "domainId",
    coalesce(octet_length(c.html), 0) + coalesce(octet_length(c.text), 0) + a.bytes as bytes,
    a.bytes > 0 as "hasAttachments",
    exists (
      select 1
      from email_recipients r
      where r.organization_id = $1 and r.mode = $2 and r.email_id = given.id
        and ${lowerInSql('r.address')} <> all ($4) and r.address not ${IS_PLACEHOLDER}
    ) as "isShared"
  from unnest($3::uuid[]) as given (id)
  join emails e on e.organization_id = $1 and e.mode = $2 and e.id = given.id
  left join email_contents c on c.organization_id = $1 and c.mode = $2 and c.email_id = given.id
  cross join lateral (
    select coalesce(sum(size), 0)::int as bytes
    from email_attachments
    where organization_id = $1 and mode = $2 and email_id = given.id
  ) a
  order by e.id`;

/** In the order of ids; deleted emails have no row. */
export function measureErasable(
  { organizationId, mode, keys }: Omit<ErasedSubject, 'finder'>,
  emailIds: readonly string[],
): Statement<ErasableEmail> {
  return { name: 'measure-erasable', text: MEASURE, values: [organizationId, mode, emailIds, keys] };
}
