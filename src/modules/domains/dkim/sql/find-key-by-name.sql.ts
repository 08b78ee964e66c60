// The public key that a selector of a verified domain names, whatever its state, expired ones included while they are kept.
// Reads: domains (unique index domains_verified_name), dkim_keys (primary key). Locks: none. Rows: 0 or 1.
// Without organization: whose it is, is the question.
// Not the ORM: a join that answers two columns.
import type { Statement } from '../../../../database/statement';

export interface KnownKey {
  organizationId: string;
  domainId: string;
  /** Base64 of the DER public key. */
  publicKey: string;
}

const TEXT = `
  select k.organization_id as "organizationId", k.domain_id as "domainId", k.public_key as "publicKey"
  from domains d
  join dkim_keys k on k.organization_id = d.organization_id and k.domain_id = d.id
  where d.domain = $1 and d.verification_status = 'verified' and k.selector = $2`;

export function findKeyByName(domain: string, selector: string): Statement<KnownKey> {
  return { name: 'find-key-by-name', text: TEXT, values: [domain, selector] };
}
