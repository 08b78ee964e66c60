// The hosts of the inbound routes of some domains, up to ten of each: a check of the DNS has forty look-ups.
// A host belongs to the domain of its name, or to the nearest one above it.
// Reads: inbound_routes (range of the primary key: one organization's), domains (by name). Locks: none. Rows: few.
// Not the ORM: distinct parts of a column, with a limit for each domain.
import type { Statement } from '../../../../database/statement';

const INBOUND_HOSTS = `
  with hosts as (
    select distinct split_part(address, '@', 2) as host from inbound_routes where organization_id = $1
  ), owned as (
    select distinct on (h.host) h.host, d.id
    from hosts h
    cross join lateral (
      select array_to_string(labels[n:], '.') as name
      from string_to_array(h.host, '.') as labels, generate_subscripts(labels, 1) as n
    ) above
    join domains d on d.organization_id = $1 and d.domain = above.name
    order by h.host, length(d.domain) desc
  )
  select id as "domainId", host
  from (select id, host, row_number() over (partition by id order by host) as place from owned) placed
  where id = any($2::uuid[]) and place <= 10
  order by id, host`;

export function listInboundHosts(
  organizationId: string,
  domainIds: readonly string[],
): Statement<{ domainId: string; host: string }> {
  return { name: 'list-inbound-hosts', text: INBOUND_HOSTS, values: [organizationId, domainIds] };
}
