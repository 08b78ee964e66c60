// Requests, beyond single rows.
import { NIL_ID } from '../../../../common/ids';
import type { Statement } from '../../../../database/statement';
import type { RequestKey } from '../privacy-request.entity';

// Ends what else there is about an erased subject: exports, open ones too, and erasures of before.
// Writes: privacy_requests (index privacy_requests_subject). Locks: the rows; an export that writes a part is waited for.
// Rows: the requests of one subject.
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

/** @param request the erasure itself, which stays @param hashes of the subject's address */
export function closeRequests(
  { organizationId, mode, id }: RequestKey,
  hashes: readonly Buffer[],
  now: Date,
): Statement<ClosedRequest> {
  return { name: 'close-privacy-requests', text: CLOSE, values: [organizationId, mode, hashes, now, id] };
}

// The encrypted subjects of all organizations' requests in key order, up to $4 after the key ($1, $2, $3).
// Reads: privacy_requests (primary key). Locks: none. Rows: up to $4.
// Without organization: the master key is the operator's, and encrypts what all of them have.
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

/** @param after the last row of the page before; by default the first page */
export function listEncryptedSubjects(limit: number, after?: EncryptedSubject): Statement<EncryptedSubject> {
  const { organizationId = NIL_ID, mode = '', id = NIL_ID } = after ?? {};
  return { name: 'list-encrypted-subjects', text: LIST, values: [organizationId, mode, id, limit] };
}
