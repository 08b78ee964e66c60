// Statements on the table `domains` that the ORM has no words for.
import type { Statement } from '../../../../database/statement';

// Makes changes to which domains an organization has, and which is its default, follow one another.
// Takes no table: an advisory lock until the end of the transaction. Two organizations whose hashes meet merely wait for
// each other. Rows: 1. Not the ORM: it has no advisory locks, and row locks cannot hold back a first domain.
const LOCK_DOMAIN_LIST = `select pg_advisory_xact_lock(hashtextextended('domains of ' || $1, 0))`;

export function lockDomainList(organizationId: string): Statement<unknown> {
  return { name: 'lock-domain-list', text: LOCK_DOMAIN_LIST, values: [organizationId] };
}

export interface DueDomain {
  organizationId: string;
  id: string;
}

// Takes the domains whose records are to be checked, the longest overdue first; the caller has them until $2.
// Writes: domains (index on next_check_at). Locks: the rows, skip locked. Rows: up to $3, of every organization.
// Not the ORM: a bounded update of rows that no other process has.
const TAKE_DUE_DOMAINS = `
  update domains d set next_check_at = $2
  from (
    select organization_id, id
    from domains
    where next_check_at <= $1
    order by next_check_at
    limit $3
    for update skip locked
  ) due
  where d.organization_id = due.organization_id and d.id = due.id
  returning d.organization_id as "organizationId", d.id`;

export function takeDueDomains(now: Date, until: Date, limit: number): Statement<DueDomain> {
  return { name: 'take-due-domains', text: TAKE_DUE_DOMAINS, values: [now, until, limit] };
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
