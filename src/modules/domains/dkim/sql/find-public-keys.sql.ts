// The public halves of keys, without the organization: whose key it is, is the question, and what the keys say is public.
import type { Statement } from '../../../../database/statement';

export interface KnownKey {
  organizationId: string;
  domainId: string;
  /** Base64 of the DER public key. */
  publicKey: string;
}

// The public key that a selector of a verified domain names, whatever its state, expired ones included while they are kept.
// Reads: domains (unique index domains_verified_name), dkim_keys (primary key). Locks: none. Rows: 0 or 1.
// Not the ORM: a join that returns two columns.
const FIND_KEY_BY_NAME = `
  select k.organization_id as "organizationId", k.domain_id as "domainId", k.public_key as "publicKey"
  from domains d
  join dkim_keys k on k.organization_id = d.organization_id and k.domain_id = d.id
  where d.domain = $1 and d.verification_status = 'verified' and k.selector = $2`;

export function findKeyByName(domain: string, selector: string): Statement<KnownKey> {
  return { name: 'find-key-by-name', text: FIND_KEY_BY_NAME, values: [domain, selector] };
}

export interface PublishedKeyRow {
  domainId: string;
  selector: string;
  publicKey: string;
  expiresAt: Date | null;
}

// The keys of up to 100 domains, for the DNS responder. The caller leaves out those that have expired, so that what it
// remembers goes on expiring while the database is away.
// Reads: dkim_keys (index dkim_keys_domain). Locks: none. Rows: 0 to 3 for each domain.
// Not the ORM: anyone on the Internet causes it, so it is prepared once, and one statement serves all who wait meanwhile.
const FIND_PUBLISHED_KEYS = `
  select k.domain_id as "domainId", k.selector, k.public_key as "publicKey", k.expires_at as "expiresAt"
  from unnest($1::uuid[]) as wanted (domain_id)
  join dkim_keys k on k.domain_id = wanted.domain_id
  order by k.domain_id, k.selector`;

export function findPublishedKeys(domainIds: readonly string[]): Statement<PublishedKeyRow> {
  return { name: 'find-published-keys', text: FIND_PUBLISHED_KEYS, values: [[...domainIds]] };
}
