// The hosts of the inbound routes of some domains, up to ten of each: a check of the DNS has forty look-ups.
// Reads: inbound_routes (range of the primary key: one organization's). Locks: none. Rows: few.
// Not the ORM: distinct parts of a column, with a limit for each domain.
import type { Statement } from '../../../../database/statement';

const INBOUND_HOSTS = `
  select domain_id as "domainId", host
  from (
    select domain_id, host, row_number() over (partition by domain_id order by host) as place
    from (
      select distinct domain_id, split_part(address, '@', 2) as host
      from inbound_routes
      where organization_id = $1 and domain_id = any($2::uuid[])
    ) hosts
  ) placed
  where place <= 10
  order by domain_id, host`;

export function listInboundHosts(
  organizationId: string,
  domainIds: readonly string[],
): Statement<{ domainId: string; host: string }> {
  return { name: 'list-inbound-hosts', text: INBOUND_HOSTS, values: [organizationId, domainIds] };
}
