// Sums what has come of mail in a period by the group of receivers.
// Reads: stats_providers (primary key with a domain, else index stats_providers_by_hour) and stats_deltas (as in sum-period), in
// one snapshot, so that what is being folded counts once. Locks: none. Rows: 24 a day, domain and group; no event is read.
// Not the ORM: a sum over two tables.
import type { Tenant } from '../../../common/tenant';
import type { Statement } from '../../../database/statement';
import type { Period } from '../period';
import { PROVIDER_COUNTERS } from '../stat-delta';

export interface ProviderSums {
  readonly provider: string;
  /** Recipients that the receivers took; the delivered are among them. */
  readonly accepted: number;
  readonly delivered: number;
  /** Attempts. */
  readonly deferred: number;
  readonly bounced: number;
  /** Of the bounced, what says nothing of the sender. */
  readonly excused: number;
  readonly complaints: number;
}

const SUMS = ['accepted', 'delivered', 'deferred', 'bounced', 'excused', 'complaints'];
const APPENDED = PROVIDER_COUNTERS.map((_, place) => `(counts ->> ${place})::int`);

/** @param period whole hours */
export function sumByProvider(scope: Tenant, { from, to }: Period): Statement<ProviderSums> {
  const { organizationId, mode, domainId } = scope;
  const values = [organizationId, mode, from, to];
  return domainId === undefined
    ? { name: 'sum-by-provider', text: textOf(''), values }
    : { name: 'sum-by-provider-of-domain', text: textOf('and domain_id = $5'), values: [...values, domainId] };
}

function textOf(ofDomain: string): string {
  const ofPeriod = `where organization_id = $1 and mode = (select $2::text) and hour >= $3 and hour < $4 ${ofDomain}`;
  return `
  select provider, ${SUMS.map((sum) => `sum(${sum})::double precision as ${sum}`).join(', ')}
  from (
    select provider, ${SUMS.join(', ')} from stats_providers ${ofPeriod}
    union all
    select provider, ${APPENDED.join(', ')}
    from stats_deltas cross join lateral jsonb_each(by_provider) as p (provider, counts)
    ${ofPeriod} and by_provider is not null
  ) counted
  group by provider`;
}
