import { NIL_ID } from '../../../common/ids';
import type { Statement } from '../../../database/statement';
import { destinationsOf, type ProvenOnly, provenOnlyColumns } from './ready-destinations.sql';

// Walks round the organizations with ready work, from one on and then from the start, and returns those with a destination that
// is not blocked. It stops after $3 of those, after $4 organizations, or at its starting point. Reads: deliveries (index
// deliveries_ready (organization_id, destination, …), by loose index scans: two look-ups for each organization, whatever the
// depth of the queue). Locks: none. Rows: up to $3, and the last one if $4 ended the walk. The order is given in full, else the
// planner may take the primary key and read all that is not ready. Not the ORM: recursive look-ups.
export interface ReadyTenant {
  organizationId: string;
  hasWork: boolean;
  /** Which organization of the walk it was, from 1. */
  step: number;
}

const FILTER = { blocked: '$2', restricted: '$5', proven: '$6' };

const TEXT = `
  with recursive walk as (
    select $1::uuid as organization_id, false as is_wrapped, 0 as step
    union all
    select next.organization_id, next.is_wrapped, walk.step + 1
    from walk
    cross join lateral (
      (
        select d.organization_id, walk.is_wrapped
        from deliveries d
        where d.state = 'ready' and d.organization_id > walk.organization_id
        order by d.organization_id, d.destination
        limit 1
      )
      union all
      select first.organization_id, true
      from (
        select d.organization_id
        from deliveries d
        where d.state = 'ready' and d.organization_id > '${NIL_ID}'
        order by d.organization_id, d.destination
        limit 1
      ) first
      where not walk.is_wrapped
      limit 1
    ) next
    where walk.step < $4 and (not next.is_wrapped or next.organization_id <= $1)
  )
  select organization_id as "organizationId", has_work as "hasWork", step
  from (
    select walk.organization_id, walk.step, exists (${destinationsOf('walk.organization_id', FILTER)}) as has_work
    from walk
    where walk.step > 0
    offset 0
  ) seen
  where has_work or step = $4
  limit $3`;

export interface TenantWalk {
  /** The walk starts after this organization. */
  readonly afterOrganizationId: string;
  readonly blockedDestinations: readonly string[];
  readonly provenOnly?: ProvenOnly | undefined;
  /** How many with work to find, and how many to examine. */
  readonly mostFound: number;
  readonly mostSeen: number;
}

/** Returns organizations with claimable mail, and the last organization of the walk, where the next one continues. */
export function findReadyTenants(walk: TenantWalk): Statement<ReadyTenant> {
  const { afterOrganizationId, blockedDestinations, mostFound, mostSeen, provenOnly } = walk;
  return {
    name: 'find-ready-tenants',
    text: TEXT,
    values: [afterOrganizationId, blockedDestinations, mostFound, mostSeen, ...provenOnlyColumns(provenOnly)],
  };
}
