import { lowerForms, lowerFormsInIndex, lowerInSql } from '../../../common/address-forms';
import type { Mode } from '../../../common/tenant';
import type { Statement } from '../../../database/statements/statement';
import type { DeliveryKey } from '../../../delivery/ports/delivery';

// Finds what was sent to an address, by any organization.
// Reads: email_recipients (email_recipients_address). Locks: none. Rows: up to $7, in no order: with one, all of the address would be read.
// For operators, so over all organizations. Without a lateral subquery, which distributed tables refuse. Not the ORM: a
// comparison of composite keys.
const FIND_ADDRESSED = `
  select r.organization_id as "organizationId", r.mode, r.email_id as "emailId", r.position
  from email_recipients r
  where lower(r.address) = any ($1::text[]) and ${lowerInSql('r.address')} = any ($2::text[])
    and (r.organization_id, r.mode, r.email_id) >= ($3::uuid, $4::text, $5::uuid)
    and (r.organization_id, r.mode, r.email_id, r.position) > ($3::uuid, $4::text, $5::uuid, $6::smallint)
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
