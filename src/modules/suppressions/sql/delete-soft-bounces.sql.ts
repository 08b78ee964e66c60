// Forgets the soft bounces of one address.
// Writes: soft_bounces (primary key). Locks: the row. Rows: 1 at most.
// Not the ORM: the table has no entity.
import type { Statement } from '../../../database/statement';
import type { AddressLookup } from '../suppression';

const TEXT = 'delete from soft_bounces where organization_id = $1 and mode = $2 and address_key = $3';

export function deleteSoftBounces({ organizationId, mode, key }: AddressLookup): Statement<never> {
  return { name: 'delete-soft-bounces', text: TEXT, values: [organizationId, mode, key] };
}
