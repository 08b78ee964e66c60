import { NIL_ID } from '../../../../common/ids';
import type { Statement } from '../../../../database/statements/statement';
import type { PartKey, PrivacyRequestType, RequestKey } from '../privacy-request.entity';

// Statements on several requests.
// Locks the request whose turn it is: in the next organization after $3 that has a request due at $2 and none leased by a worker,
// the one that has waited longest since its last turn. Two workers select the same row, and one of them gets it, so that an
// organization has one request of a type in progress at a time.
// Reads: privacy_requests (indexes privacy_requests_due, one look-up for each organization, and privacy_requests_leased).
// Locks: the row until the end of the transaction, skip locked. Rows: 0 or 1.
// Without organization: a background job of the whole installation.
// Not the ORM: goes from one organization to the next by the index.
const IS_OPEN = "status in ('pending', 'processing') and type = $1";
const IS_DUE = 'coalesce(lease_until, requested_at) <= $2';

/** Whether there are any of a type, leased or not. */
export function hasRequests(type: PrivacyRequestType): string {
  return `exists (select from privacy_requests where status in ('pending', 'processing') and type = '${type}')`;
}

const LOCK_TURN = `
  with recursive waiting as (
    (
      select organization_id from privacy_requests
      where ${IS_OPEN} and ${IS_DUE} and organization_id > $3
      order by organization_id limit 1
    )
    union all
    select next.organization_id
    from waiting
    cross join lateral (
      select organization_id from privacy_requests
      where ${IS_OPEN} and ${IS_DUE} and organization_id > waiting.organization_id
      order by organization_id limit 1
    ) next
  )
  select mine.organization_id as "organizationId", mine.mode, mine.id
  from waiting
  cross join lateral (
    select organization_id, mode, id from privacy_requests
    where ${IS_OPEN} and ${IS_DUE} and organization_id = waiting.organization_id
    order by coalesce(lease_until, requested_at), id
    limit 1
  ) longest
  cross join lateral (
    select organization_id, mode, id from privacy_requests
    where organization_id = longest.organization_id and mode = longest.mode and id = longest.id
      and ${IS_OPEN} and ${IS_DUE}
    for update skip locked
  ) mine
  where not exists (
    select from privacy_requests leased
    where leased.organization_id = waiting.organization_id and leased.type = $1
      and leased.lease_token is not null and leased.lease_until > $2
  )
  limit 1`;

/** @param after an organization's id, see `OrganizationRing` */
export function lockTurn(type: PrivacyRequestType, now: Date, after: string): Statement<RequestKey> {
  return { name: 'lock-privacy-turn', text: LOCK_TURN, values: [type, now, after] };
}

// Ends the other requests of an erased subject: all exports, open ones as failed, and earlier erasures that have ended.
// Writes: privacy_requests (index privacy_requests_subject). Locks: the rows; waits for an export that is writing a part.
// Rows: the requests of one subject that still name it, at most a few.
// Not the ORM: several columns by the row's own state, with `returning`.

export interface ClosedRequest {
  id: string;
  type: string;
}

const CLOSE = `
  update privacy_requests
  set
    subject = null,
    failure = case when status in ('pending', 'processing') then 'erased' else failure end,
    completed_at = coalesce(completed_at, $4),
    expires_at = least(expires_at, $4),
    status = case when status in ('pending', 'processing') then 'failed' else status end,
    lease_token = null,
    lease_until = null
  where organization_id = $1 and mode = $2 and subject_hash = any($3::bytea[]) and id <> $5 and subject is not null
    and (type = 'article_15_access' or status in ('completed', 'failed'))
  returning id, type`;

/** Returns one row per ended request. The first parameter is the erasure itself, which stays. @param hashes of the address, by every key */
export function closeRequests(
  { organizationId, mode, id }: RequestKey,
  hashes: readonly Buffer[],
  now: Date,
): Statement<ClosedRequest> {
  return { name: 'close-privacy-requests', text: CLOSE, values: [organizationId, mode, hashes, now, id] };
}

// The oldest request, made after $1, that has failed and is not answered by a later one of its type or by the erasure of its subject.
// Reads: privacy_requests, whole. Locks: none. Rows: one, of all organizations. Not the ORM: an anti-join of the table with itself.
const OLDEST_FAILED = `
  select min(f.requested_at) as "requestedAt" from privacy_requests f
  where f.status = 'failed' and f.failure <> 'erased' and f.requested_at > $1
    and not exists (
      select from privacy_requests a
      where a.organization_id = f.organization_id and a.mode = f.mode and a.subject_hash = f.subject_hash
        and a.status = 'completed' and a.type in (f.type, 'article_17_erasure') and a.completed_at >= f.completed_at
    )`;

export function oldestFailed(since: Date): Statement<{ requestedAt: Date | null }> {
  return { name: 'oldest-failed-privacy-request', text: OLDEST_FAILED, values: [since] };
}

// Lists the encrypted subjects of all organizations' requests in key order, up to $4 after the key ($1, $2, $3).
// Reads: privacy_requests (primary key). Locks: none. Rows: up to $4.
// Without organization: the master key belongs to the operator and encrypts the data of all organizations.
// Not the ORM: pages by a row comparison.

export interface EncryptedSubject extends RequestKey {
  readonly subject: Buffer;
}

const LIST = `
  select organization_id as "organizationId", mode, id, subject
  from privacy_requests
  where (organization_id, mode, id) > ($1, $2, $3) and subject is not null
  order by organization_id, mode, id
  limit $4`;

/** @param after the last row of the page before; undefined for the first page */
export function listEncryptedSubjects(limit: number, after?: EncryptedSubject): Statement<EncryptedSubject> {
  const { organizationId = NIL_ID, mode = '', id = NIL_ID } = after ?? {};
  return { name: 'list-encrypted-subjects', text: LIST, values: [organizationId, mode, id, limit] };
}

// Deletes parts, of all organizations, of results that have expired at $1 and of failed requests.
// Writes: privacy_export_parts; reads privacy_requests (primary key). Locks: the rows, skip locked. Rows: up to $2.
// Scans all parts, which are few: results expire after RETENTION_EXPORTS_DAYS.
// Not the ORM: a bounded delete.
const DELETE_OLD = `
  delete from privacy_export_parts p
  using (
    select organization_id, mode, request_id, section, part
    from privacy_export_parts p
    where exists (
      select from privacy_requests r
      where r.organization_id = p.organization_id and r.mode = p.mode and r.id = p.request_id
        and (r.expires_at <= $1 or r.status = 'failed')
    )
    order by organization_id, mode, request_id, section, part
    limit $2
    for update skip locked
  ) old
  where p.organization_id = old.organization_id and p.mode = old.mode and p.request_id = old.request_id
    and p.section = old.section and p.part = old.part
  returning 1 as deleted`;

/** Returns one row per deleted part. */
export function deleteOldParts(now: Date, limit: number): Statement<{ deleted: 1 }> {
  return { name: 'delete-old-export-parts', text: DELETE_OLD, values: [now, limit] };
}

// Lists the encrypted parts of all organizations' exports in key order, up to $6 after the key ($1, …, $5).
// Reads: privacy_export_parts (primary key). Locks: none. Rows: up to $6, of about 1 MiB.
// Without organization: the master key belongs to the operator and encrypts the data of all organizations.
// Not the ORM: pages by a row comparison.

export interface EncryptedPart extends PartKey {
  readonly content: Buffer;
}

const LIST_PARTS = `
  select organization_id as "organizationId", mode, request_id as id, section, part, content
  from privacy_export_parts
  where (organization_id, mode, request_id, section, part) > ($1, $2, $3, $4, $5)
  order by organization_id, mode, request_id, section, part
  limit $6`;

/** @param after the last row of the page before; undefined for the first page */
export function listEncryptedParts(limit: number, after?: EncryptedPart): Statement<EncryptedPart> {
  const { organizationId = NIL_ID, mode = '', id = NIL_ID, section = '', part = 0 } = after ?? {};
  return { name: 'list-encrypted-parts', text: LIST_PARTS, values: [organizationId, mode, id, section, part, limit] };
}
