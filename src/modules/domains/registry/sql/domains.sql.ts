import type { Statement } from '../../../../database/statements/statement';

// Statements on the table `domains` that the ORM cannot express.
export interface DueDomain {
  organizationId: string;
  id: string;
}

// Lists the organizations with domains whose check is due, in the order of their ids.
// Reads: domains (index domains_next_check, the entries that are due). Locks: none. Rows: one for each organization.
// Not the ORM: it would read the rows.
const LIST_DUE_OWNERS = `
  select organization_id as "organizationId"
  from domains
  where next_check_at <= $1
  group by organization_id
  order by organization_id`;

export function listDueOwners(now: Date): Statement<{ organizationId: string }> {
  return { name: 'list-due-domain-owners', text: LIST_DUE_OWNERS, values: [now] };
}

// Leases due domains until $2: up to $4 of each of these organizations, the longest overdue first, and $3 in total.
// Writes: domains (index domains_next_check_of). Locks: the rows, skip locked. Rows: up to $3.
// Not the ORM: a bounded update of rows that no other process has locked, with a limit for each organization.
const TAKE_DUE_DOMAINS = `
  with due as materialized (
    select domain.organization_id, domain.id
    from unnest($5::uuid[]) as owner (organization_id)
    cross join lateral (
      select organization_id, id
      from domains
      where organization_id = owner.organization_id and next_check_at <= $1
      order by next_check_at
      limit $4
      for update skip locked
    ) domain
    limit $3
  )
  update domains d set next_check_at = $2
  from due
  where d.organization_id = due.organization_id and d.id = due.id
  returning d.organization_id as "organizationId", d.id`;

export interface DueDomains {
  readonly now: Date;
  /** When they are due again, unless the check writes another time before. */
  readonly until: Date;
  readonly limit: number;
  readonly limitEach: number;
}

export function takeDueDomains(
  { now, until, limit, limitEach }: DueDomains,
  organizationIds: readonly string[],
): Statement<DueDomain> {
  const values = [now, until, limit, limitEach, organizationIds];
  return { name: 'take-due-domains', text: TAKE_DUE_DOMAINS, values };
}

// Counts the domains whose check is due, up to ten thousand.
// Reads: domains (index on next_check_at). Locks: none. Rows: one.
// Not the ORM: a bounded count.
const COUNT_DUE_DOMAINS = `
  select count(*)::int as count
  from (select from domains where next_check_at <= $1 limit 10000) due`;

export function countDueDomains(now: Date): Statement<{ count: number }> {
  return { name: 'count-due-domains', text: COUNT_DUE_DOMAINS, values: [now] };
}

// Lists the hosts of the inbound routes of some domains, up to ten of each: a DNS check may use forty lookups.
// A host belongs to the domain of its name, or to the nearest one above it.
// Reads: inbound_routes (range of the primary key: one organization's), domains (by name). Locks: none. Rows: few.
// Not the ORM: distinct parts of a column, with a limit for each domain.
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

/** In the order of domain and host; domains without routes have no row. */
export function listInboundHosts(
  organizationId: string,
  domainIds: readonly string[],
): Statement<{ domainId: string; host: string }> {
  return { name: 'list-inbound-hosts', text: INBOUND_HOSTS, values: [organizationId, domainIds] };
}
