import type { Statement } from '../../../database/statements/statement';
import { type ClaimedDelivery, SUSPECT_CRASHES } from '../../ports/delivery';
import { CLAIMED_COLUMNS } from './claim-deliveries.sql';
import { NIL_ID } from '../../../common/ids';
import { destinationsOf, filterColumns, type ReadyFilter } from './ready-destinations.sql';

// Makes waiting deliveries ready once they are due; suspects wait until a worker tries them alone.
// Writes: deliveries (partial index deliveries_waiting). Locks: rows in due order, skip locked. Rows: up to $2.
// Not the ORM: SKIP LOCKED inside an update. Keeping the future out of the ready index lets a claim read due work only.
const IS_DUE = `state = 'waiting' and due_at <= $1 and crashes < ${SUSPECT_CRASHES}`;

/** Whether there are any. */
export const HAS_DUE = `exists (select from deliveries where ${IS_DUE})`;

const PROMOTE = `
  with due as (
    select organization_id, mode, email_id, position
    from deliveries
    where ${IS_DUE}
    order by due_at
    limit $2
    for update skip locked
  ), promoted as (
    update deliveries d
    set state = 'ready'
    from due
    where d.organization_id = due.organization_id and d.mode = due.mode
      and d.email_id = due.email_id and d.position = due.position
    returning 1
  )
  select count(*)::int as promoted from promoted`;

/** One row: how many waiting deliveries became ready. @param limit at most so many, the longest due first */
export function promoteDue(now: Date, limit: number): Statement<{ promoted: number }> {
  return { name: 'promote-due', text: PROMOTE, values: [now, limit] };
}

// Claims deliveries whose time is over and that no worker has claimed (a destination held back for days), so that they can be ended.
// A session whose lease has ended claims nothing.
// Writes: deliveries (partial indexes deliveries_first_due and deliveries_expiring: one look-up each when nothing is overdue; then
// the primary key). Reads: worker_sessions (primary key). Locks: rows in primary-key order, skip locked. Rows: up to $3.
// Not the ORM: SKIP LOCKED inside an update.
const CLAIM_OVERDUE = `
  with found as materialized (
    (
      select organization_id, mode, email_id, position
      from deliveries
      where state in ('waiting', 'ready', 'held') and first_due_at < $4
      order by first_due_at
      limit $3
    )
    union
    (
      select organization_id, mode, email_id, position
      from deliveries
      where state in ('waiting', 'ready', 'held') and expires_at is not null and expires_at <= $2
      order by expires_at
      limit $3
    )
  ), overdue as materialized (
    select d.organization_id, d.mode, d.email_id, d.position, d.state
    from found f
    join deliveries d using (organization_id, mode, email_id, position)
    where d.state in ('waiting', 'ready', 'held') and exists (select 1 from worker_sessions where id = $1 and lease_until > now())
    order by d.organization_id, d.mode, d.email_id, d.position
    limit $3
    for update of d skip locked
  )
  update deliveries d
  set state = 'claimed', session_id = $1, claim_token = d.claim_token + 1, attempt = d.attempt + 1, claimed_at = $2
  from overdue o
  where d.organization_id = o.organization_id and d.mode = o.mode and d.email_id = o.email_id and d.position = o.position
  returning ${CLAIMED_COLUMNS}, o.state as "stateBefore", d.held_at as "heldAt", d.held_reason as "heldReason"`;

/** A claim, and what it was before. */
export interface OverdueRow extends ClaimedDelivery {
  readonly stateBefore: 'waiting' | 'ready' | 'held';
  readonly heldAt: Date | null;
  readonly heldReason: string | null;
}

/** @param bornBefore deliveries first due before it have expired */
export function claimOverdue(sessionId: string, now: Date, limit: number, bornBefore: Date): Statement<OverdueRow> {
  return { name: 'claim-overdue', text: CLAIM_OVERDUE, values: [sessionId, now, limit, bornBefore] };
}

// Walks round the organizations with ready work, from one on and then from the start, and returns those with a destination that
// is not blocked. It stops after $2 of those, after $3 organizations, or at its starting point. Reads: deliveries (index
// deliveries_ready (organization_id, destination, …), by loose index scans: two look-ups for each organization, whatever the
// depth of the queue). Locks: none. Rows: up to $2, and the last one if $3 ended the walk. The order is given in full, else the
// planner may take the primary key and read all that is not ready. Not the ORM: recursive look-ups.
export interface ReadyTenant {
  organizationId: string;
  hasWork: boolean;
  /** Which organization of the walk it was, from 1. */
  step: number;
}

const FILTER = { blocked: '$4', restricted: '$5', proven: '$6' };

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
    where walk.step < $3 and (not next.is_wrapped or next.organization_id <= $1)
  )
  select organization_id as "organizationId", has_work as "hasWork", step
  from (
    select walk.organization_id, walk.step, exists (${destinationsOf('walk.organization_id', FILTER)}) as has_work
    from walk
    where walk.step > 0
    offset 0
  ) seen
  where has_work or step = $3
  limit $2`;

export interface TenantWalk {
  /** The walk starts after this organization. */
  readonly afterOrganizationId: string;
  readonly filter: ReadyFilter;
  /** How many with work to find, and how many to examine. */
  readonly mostFound: number;
  readonly mostSeen: number;
}

/** Returns organizations with claimable mail, and the last organization of the walk, where the next one continues. */
export function findReadyTenants(walk: TenantWalk): Statement<ReadyTenant> {
  const { afterOrganizationId, filter, mostFound, mostSeen } = walk;
  return {
    name: 'find-ready-tenants',
    text: TEXT,
    values: [afterOrganizationId, mostFound, mostSeen, ...filterColumns(filter)],
  };
}
