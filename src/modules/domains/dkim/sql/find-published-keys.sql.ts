// The keys of up to 100 domains, for the DNS responder; those that have expired are for the caller to leave out, so that
// what it remembers goes on expiring while the database is away.
// Reads: dkim_keys (index dkim_keys_domain). Locks: none. Rows: 0 to 3 for each domain.
// Without organization: the names in a public zone have none, and what they answer is public.
// Not the ORM: strangers ask for it, so it is prepared once, and one statement answers all who ask meanwhile.
import type { Statement } from '../../../../database/statement';

export interface PublishedKeyRow {
  domainId: string;
  selector: string;
  publicKey: string;
  expiresAt: Date | null;
}

const TEXT = `
  select k.domain_id as "domainId", k.selector, k.public_key as "publicKey", k.expires_at as "expiresAt"
  from unnest($1::uuid[]) as wanted (domain_id)
  join dkim_keys k on k.domain_id = wanted.domain_id
  order by k.domain_id, k.selector`;

export function findPublishedKeys(domainIds: readonly string[]): Statement<PublishedKeyRow> {
  return { name: 'find-published-keys', text: TEXT, values: [[...domainIds]] };
}
