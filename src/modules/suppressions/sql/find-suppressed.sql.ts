// The suppressions in force for many addresses at once.
// Reads: suppressions (primary key). Locks: none. Rows: those of a batch of accepts or claims that are listed.
// Not the ORM: hundreds of (organization, mode, address) triples in one look-up with fixed text.
import type { Statement } from '../../../database/statement';
import type { AddressLookup, SuppressionReason } from '../suppression';

export interface SuppressedAddress {
  /** Index into the addresses asked for. */
  index: number;
  reason: SuppressionReason;
}

const TEXT = `
  select wanted.ordinality::int - 1 as index, s.reason
  from unnest($1::uuid[], $2::text[], $3::text[]) with ordinality as wanted (organization_id, mode, address_key, ordinality)
  join suppressions s using (organization_id, mode, address_key)
  where s.expires_at is null or s.expires_at > now()`;

export function findSuppressed(addresses: readonly AddressLookup[]): Statement<SuppressedAddress> {
  return {
    name: 'find-suppressed',
    text: TEXT,
    values: [
      addresses.map((address) => address.organizationId),
      addresses.map((address) => address.mode),
      addresses.map((address) => address.key),
    ],
  };
}
