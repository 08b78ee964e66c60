// Ends what else there is about an erased subject: exports, open ones too, and erasures of before.
// Writes: privacy_requests (index privacy_requests_subject). Locks: the rows; an export that writes a part is waited for.
// Rows: the requests of one subject.
// Not the ORM: several columns by the row's own state, with `returning`.
import type { Statement } from '../../../../database/statement';
import type { RequestKey } from '../erasure-progress';

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

const FORGET = 'update privacy_requests set subject = null where organization_id = $1 and mode = $2 and id = $3';

export function forgetSubject({ organizationId, mode, id }: RequestKey): Statement<never> {
  return { name: 'forget-privacy-subject', text: FORGET, values: [organizationId, mode, id] };
}
