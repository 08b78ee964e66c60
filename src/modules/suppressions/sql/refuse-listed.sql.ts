// Fails its transaction (WB001) when one of the addresses may be suppressed: it has an entry in force that blocks mail of
// its category, or its organization has hashed entries, which only the application can compare. Sent ahead of the writes it
// saves a batch of accepts the round trip of looking first.
// Reads: suppressions, suppression_hash_keys (primary keys). Locks: none. Rows: none.
// Not the ORM: hundreds of (organization, mode, address) triples in one look-up with fixed text.
import type { Statement } from '../../../database/statement';
import type { MailLookup } from '../suppression';

const TEXT = `
  select refuse_listed(
    exists (
      select
      from unnest($1::uuid[], $2::text[], $3::text[], $4::text[]) as wanted (organization_id, mode, address_key, category)
      join suppressions s using (organization_id, mode, address_key)
      where (s.expires_at is null or s.expires_at > $5) and (s.reason <> 'unsubscribe' or wanted.category = 'bulk')
    ) or exists (
      select from suppression_hash_keys k where k.organization_id = any($1)
    )
  )`;

export function refuseListed(addresses: readonly MailLookup[], now: Date): Statement<never> {
  return {
    name: 'refuse-listed',
    text: TEXT,
    values: [
      addresses.map((address) => address.organizationId),
      addresses.map((address) => address.mode),
      addresses.map((address) => address.key),
      addresses.map((address) => address.category),
      now,
    ],
  };
}
