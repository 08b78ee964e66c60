// Domains whose live mail has bounced, or been complained about, more than it may; in key order.
// Reads: stats_hourly (index stats_hourly_live) and stats_deltas (folded within seconds, so read as a whole), in one
// snapshot, so that what is being folded counts once. Locks: none. Rows: 24 hours of every domain that has sent, into
// the few that are above.
// Of every organization: a background job of the operator's asks. Not the ORM: a sum over two tables.
import type { Statement } from '../../../database/statement';
import { NIL_ID } from '../../../common/ids';

export interface DomainOwner {
  readonly organizationId: string;
  readonly domainId: string;
}

/** What is above them is wanted. */
export interface RateLimits {
  /** Domains with fewer are left out. */
  readonly minRecipients: number;
  /** Of a thousand recipients. */
  readonly perMille: { readonly bounces: number; readonly complaints: number };
}

const TEXT = `
  select organization_id as "organizationId", domain_id as "domainId"
  from (
    select organization_id, domain_id, accepted, bounced, complaints
    from stats_hourly where mode = 'live' and hour >= $1
    union all
    select organization_id, domain_id, accepted, bounced, complaints
    from stats_deltas where mode = 'live' and hour >= $1
  ) c
  where (organization_id, domain_id) > ($5, $6)
  group by organization_id, domain_id
  having sum(accepted) >= $2
    and (sum(bounced) * 1000 > sum(accepted) * $3::int or sum(complaints) * 1000 > sum(accepted) * $4::int)
  order by organization_id, domain_id
  limit $7`;

/** @param since hours that began then or later count */
export function findDomainsAbove(
  { minRecipients, perMille }: RateLimits,
  since: Date,
  after: DomainOwner | undefined,
  limit: number,
): Statement<DomainOwner> {
  const { organizationId = NIL_ID, domainId = NIL_ID } = after ?? {};
  return {
    name: 'find-domains-above',
    text: TEXT,
    values: [since, minRecipients, perMille.bounces, perMille.complaints, organizationId, domainId, limit],
  };
}
