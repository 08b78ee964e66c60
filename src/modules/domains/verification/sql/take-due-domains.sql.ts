// Takes the domains whose records are to be looked at, the longest overdue first; whoever takes one has it until $2.
// Writes: domains (index on next_check_at). Locks: the rows, skip locked. Rows: up to $3, of every organization.
// Not the ORM: a bounded update of rows that nobody else has.
import type { Statement } from '../../../../database/statement';

export interface DueDomain {
  organizationId: string;
  id: string;
}

const TEXT = `
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
  return { name: 'take-due-domains', text: TEXT, values: [now, until, limit] };
}
