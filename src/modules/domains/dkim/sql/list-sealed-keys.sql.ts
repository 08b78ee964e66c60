// The sealed private keys of all organizations in key order, up to $4 of them after the key ($1, $2, $3).
// Reads: dkim_keys (primary key). Locks: none. Rows: up to $4.
// Without organization: the master key is the operator's, and seals the keys of all of them.
// Not the ORM: pages by a row comparison.
import type { Statement } from '../../../../database/statement';
import { NIL_ID } from '../../../../common/ids';

export interface SealedKeyRow {
  organizationId: string;
  domainId: string;
  selector: string;
  sealed: Buffer;
}

const TEXT = `
  select organization_id as "organizationId", domain_id as "domainId", selector, private_key_sealed as sealed
  from dkim_keys
  where (organization_id, domain_id, selector) > ($1, $2, $3)
  order by organization_id, domain_id, selector
  limit $4`;

const START = { organizationId: NIL_ID, domainId: NIL_ID, selector: '' };

/** @param after the last row of the page before; by default the first page */
export function listSealedKeys(limit: number, after: Omit<SealedKeyRow, 'sealed'> = START): Statement<SealedKeyRow> {
  const { organizationId, domainId, selector } = after;
  return { name: 'list-sealed-keys', text: TEXT, values: [organizationId, domainId, selector, limit] };
}
