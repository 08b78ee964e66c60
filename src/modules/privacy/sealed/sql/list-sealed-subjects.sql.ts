// The sealed subjects of all organizations' requests in key order, up to $4 after the key ($1, $2, $3).
// Reads: privacy_requests (primary key). Locks: none. Rows: up to $4.
// Without organization: the master key is the operator's, and seals what all of them have.
// Not the ORM: pages by a row comparison.
import type { Statement } from '../../../../database/statement';
import type { RequestKey } from '../../privacy-keys';
import { NIL_ID } from '../../../../common/ids';

export interface SealedSubjectRow extends RequestKey {
  readonly subject: Buffer;
}

const TEXT = `
  select organization_id as "organizationId", mode, id, subject
  from privacy_requests
  where (organization_id, mode, id) > ($1, $2, $3) and subject is not null
  order by organization_id, mode, id
  limit $4`;

/** @param after the last row of the page before; by default the first page */
export function listSealedSubjects(limit: number, after?: SealedSubjectRow): Statement<SealedSubjectRow> {
  const { organizationId = NIL_ID, mode = '', id = NIL_ID } = after ?? {};
  return { name: 'list-sealed-subjects', text: TEXT, values: [organizationId, mode, id, limit] };
}
