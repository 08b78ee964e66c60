// The sealed parts of all organizations' exports in key order, up to $6 after the key ($1, …, $5).
// Reads: privacy_export_parts (primary key). Locks: none. Rows: up to $6, of about 1 MiB.
// Without organization: the master key is the operator's, and seals what all of them have.
// Not the ORM: pages by a row comparison.
import type { Statement } from '../../../../database/statement';
import type { PartKey } from '../../privacy-keys';
import { NIL_ID } from '../../../../common/ids';

export interface SealedPartRow extends PartKey {
  readonly content: Buffer;
}

const TEXT = `
  select organization_id as "organizationId", mode, request_id as id, section, part, content
  from privacy_export_parts
  where (organization_id, mode, request_id, section, part) > ($1, $2, $3, $4, $5)
  order by organization_id, mode, request_id, section, part
  limit $6`;

/** @param after the last row of the page before; by default the first page */
export function listSealedParts(limit: number, after?: SealedPartRow): Statement<SealedPartRow> {
  const { organizationId = NIL_ID, mode = '', id = NIL_ID, section = '', part = 0 } = after ?? {};
  return { name: 'list-sealed-parts', text: TEXT, values: [organizationId, mode, id, section, part, limit] };
}
