// Takes recipients out of what domains in their warm-up may still send today, each as many as are left.
// Reads: domains (primary key). Writes: warm_up_usage (primary key; no indexed column changes, so the update stays on its
// page). Locks: usage rows in key order, for this statement only: no accept holds one while it waits for its own commit.
// A domain with nothing left is read and not written. Rows: the warming domains of one batch.
// The commit is asynchronous: an accept commits after its reservation, and a commit flushes the log before it, so a
// reservation can only be lost together with the emails it was made for.
// Not the ORM: an upsert that answers what was granted.
import type { Statement } from '../../../../database/statement';
import type { PauseReason, WarmingStatus } from '../../domain.entity';

export interface ReservationRow {
  organizationId: string;
  domainId: string;
  name: string;
  status: WarmingStatus;
  pausedAt: Date | null;
  pauseReason: PauseReason | null;
  /** null: none */
  limit: number | null;
  granted: number;
  /** Of the day, those granted here included. */
  used: number;
}

const TEXT = `
  with relaxed as materialized (
    select set_config('synchronous_commit', 'off', true)
  ), asked as (
    select d.*, a.recipients as wanted,
      case d.warming_status
        when 'paused' then 0
        when 'warmed' then null
        else ($4::int[])[1 + greatest(0, $5::date - (coalesce(d.warming_started_at, $6) at time zone 'UTC')::date)]
      end as allowed
    from unnest($1::uuid[], $2::uuid[], $3::int[]) as a (organization_id, domain_id, recipients)
    join domains d on d.organization_id = a.organization_id and d.id = a.domain_id
    cross join relaxed
  ), granted as (
    insert into warm_up_usage as u (organization_id, domain_id, day, recipients, daily_limit, last_grant)
    select organization_id, id, $5::date, least(wanted, allowed), allowed, least(wanted, allowed)
    from asked
    where allowed > 0
    order by organization_id, id
    on conflict (organization_id, domain_id, day) do update set
      recipients = u.recipients + least(excluded.last_grant, excluded.daily_limit - u.recipients),
      daily_limit = excluded.daily_limit,
      last_grant = least(excluded.last_grant, excluded.daily_limit - u.recipients)
      where u.recipients < excluded.daily_limit
    returning u.organization_id, u.domain_id, u.recipients, u.last_grant
  )
  select a.organization_id as "organizationId", a.id as "domainId", a.domain as name, a.warming_status as status,
    a.warming_paused_at as "pausedAt", a.warming_pause_reason as "pauseReason", a.allowed as limit,
    coalesce(g.last_grant, 0) as granted,
    -- What was not granted is used up, though others may have done that after this statement's snapshot.
    coalesce(g.recipients, greatest(u.recipients, a.allowed), 0) as used
  from asked a
  left join granted g on g.organization_id = a.organization_id and g.domain_id = a.id
  left join warm_up_usage u
    on u.organization_id = a.organization_id and u.domain_id = a.id and u.day = $5::date and g.domain_id is null`;

/**
 * @param wanted holds each domain once
 * @param dailyLimits of day 1, day 2 and so on
 * @param day the UTC date of `now`
 */
export function reserveRecipients(
  wanted: readonly { organizationId: string; domainId: string; recipients: number }[],
  dailyLimits: readonly number[],
  day: string,
  now: Date,
): Statement<ReservationRow> {
  return {
    name: 'reserve-recipients',
    text: TEXT,
    values: [
      wanted.map((entry) => entry.organizationId),
      wanted.map((entry) => entry.domainId),
      wanted.map((entry) => entry.recipients),
      dailyLimits,
      day,
      now,
    ],
  };
}
