// Removes keys whose overlap is over, of every organization.
// Writes: dkim_keys (index dkim_keys_retiring). Locks: the rows, skip locked. Rows: up to $2.
// Not the ORM: a bounded delete that returns what it removed.
import type { Statement } from '../../../../database/statement';

export interface ExpiredDkimKey {
  readonly organizationId: string;
  readonly domainId: string;
  readonly selector: string;
}

const TEXT = `
  delete from dkim_keys k
  using (
    select organization_id, domain_id, selector
    from dkim_keys
    where state = 'retiring' and expires_at <= $1
    order by expires_at
    limit $2
    for update skip locked
  ) expired
  where k.organization_id = expired.organization_id and k.domain_id = expired.domain_id and k.selector = expired.selector
  returning k.organization_id as "organizationId", k.domain_id as "domainId", k.selector`;

export function deleteExpiredDkimKeys(before: Date, limit: number): Statement<ExpiredDkimKey> {
  return { name: 'delete-expired-dkim-keys', text: TEXT, values: [before, limit] };
}
