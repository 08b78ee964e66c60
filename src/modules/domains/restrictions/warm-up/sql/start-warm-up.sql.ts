// Notes the first live send of domains, in the transaction that accepts it.
// Writes: domains (primary key). Locks: the rows of domains that have not started, in key order: once in a domain's life.
// Rows: few. Not the ORM: it runs inside the accept transaction, as a write that nobody waits for.
import type { Statement } from '../../../../../database/statement';

const TEXT = `
  with starting as (
    select d.organization_id, d.id
    from unnest($1::uuid[], $2::uuid[]) as s (organization_id, domain_id)
    join domains d on d.organization_id = s.organization_id and d.id = s.domain_id
    where d.warming_status = 'not_started'
    order by d.organization_id, d.id
    for no key update of d
  )
  update domains d
  set warming_status = 'warming', warming_started_at = $3, updated_at = $3
  from starting s
  where d.organization_id = s.organization_id and d.id = s.id`;

export function startWarmUp(
  domains: readonly { organizationId: string; domainId: string }[],
  now: Date,
): Statement<never> {
  return {
    name: 'start-warm-up',
    text: TEXT,
    values: [domains.map((domain) => domain.organizationId), domains.map((domain) => domain.domainId), now],
  };
}
