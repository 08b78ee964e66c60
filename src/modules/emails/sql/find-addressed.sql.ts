import { lowerForms, lowerFormsInIndex, lowerInSql } from '../../../common/address-forms';
import type { Mode } from '../../../common/tenant';
import type { Statement } from '../../../database/statement';
import type { DeliveryKey } from '../../../delivery/ports/delivery';

// Finds what was sent to an address, by any organization, in the order of its keys.
// Reads: email_recipients (email_recipients_address, one form of the address at a time). Locks: none. Rows: up to $7 for each form
// in each partition.
// For operators, so over all organizations. Not the ORM: a lateral walk by a composite key.
const FIND_ADDRESSED = `
  select r.organization_id as "organizationId", r.mode, r.email_id as "emailId", r.position
  from unnest($1::text[]) as form
  cross join lateral (
    select organization_id, mode, email_id, position
    from email_recipients
    where lower(address) = form and ${lowerInSql('address')} = any ($2::text[])
      and (organization_id, mode, email_id) >= ($3::uuid, $4::text, $5::uuid)
      and (organization_id, mode, email_id, position) > ($3::uuid, $4::text, $5::uuid, $6::smallint)
    order by organization_id, mode, email_id, position
    limit $7
  ) r
  order by 1, 2, 3, 4
  limit $7`;

/** A place in the order of keys; the mode is empty before the first one of an organization. */
export type KeyPlace = Omit<DeliveryKey, 'mode'> & { readonly mode: Mode | '' };

/** @param recipient a normal form @param after keys up to this one are left out */
export function findAddressed(recipient: string, after: KeyPlace, limit: number): Statement<DeliveryKey> {
  const forms = lowerForms(recipient);
  const { organizationId, mode, emailId, position } = after;
  return {
    name: 'find-addressed',
    text: FIND_ADDRESSED,
    values: [lowerFormsInIndex(forms), forms, organizationId, mode, emailId, position, limit],
  };
}
