// Statements on the table `domains` that the ORM has no words for.
import type { Statement } from '../../../../database/statement';

export interface DueDomain {
  organizationId: string;
  id: string;
}

// The organizations with domains whose records are to be checked, in the order of their ids.
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

// Takes up to $4 domains of each of these organizations, and $3 in all, whose records are to be checked, the longest overdue
// first; the caller has them until $2.
// Writes: domains (index domains_next_check_of). Locks: the rows, skip locked. Rows: up to $3.
// Not the ORM: a bounded update of rows that no other process has, with a limit for each organization.
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
  /** When they are due again, unless something else is written before. */
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

// How many domains wait for a check of their records, counted to ten thousand.
// Reads: domains (index on next_check_at). Locks: none. Rows: one.
// Not the ORM: a bounded count.
const COUNT_DUE_DOMAINS = `
  select count(*)::int as count
  from (select from domains where next_check_at <= $1 limit 10000) due`;

export function countDueDomains(now: Date): Statement<{ count: number }> {
  return { name: 'count-due-domains', text: COUNT_DUE_DOMAINS, values: [now] };
}
