// Reserves recipients of limited domains (in their warm-up, slowed or paused) for today, at most as many as are left. With both kinds
// of limit the smaller one applies.
// Reads: domains (primary key). Writes: warm_up_usage (primary key; no indexed column changes, so the update stays on its
// page). Locks: usage rows in key order, for this statement only: no accept holds one while it waits for its own commit.
// A domain with nothing left is read and not written. Rows: the limited domains of one batch.
// The commit is asynchronous: an accept commits after its reservation, and a commit flushes the log before it, so a
// reservation can only be lost together with the emails it was made for.
// Not the ORM: an upsert that returns what was granted.
import type { Statement } from '../../../../database/statements/statement';
import type { PauseReason, SendingState, WarmingStatus } from '../../registry/domain.entity';

export interface ReservationRow {
  organizationId: string;
  domainId: string;
  name: string;
  status: WarmingStatus;
  pausedAt: Date | null;
  pauseReason: PauseReason | null;
  sendingStatus: SendingState['status'];
  sendingReason: SendingState['reason'];
  sendingSince: Date | null;
  /** The limit of a slowed or paused domain, without its warm-up; null: none. */
  sendingLimit: number | null;
  /** null: none */
  limit: number | null;
  granted: number;
  /** Used recipients of the day, including those granted now. */
  used: number;
}

const TEXT = `
  with relaxed as materialized (
    select set_config('synchronous_commit', 'off', true)
  ), asked as (
    select d.*, a.recipients as wanted,
      least(s.allowed, case
        when $4::int[] is null or d.warming_status = 'warmed' then null
        when d.warming_status = 'paused' then 0
        else ($4::int[])[1 + greatest(0, $5::date - (coalesce(d.warming_started_at, $6) at time zone 'UTC')::date)]
      end) as allowed,
      s.allowed as sending_allowed
    from unnest($1::uuid[], $2::uuid[], $3::int[]) as a (organization_id, domain_id, recipients)
    join domains d on d.organization_id = a.organization_id and d.id = a.domain_id
    cross join lateral (
      select case d.sending_status when 'paused' then 0 when 'slowed' then d.sending_daily_limit end as allowed
    ) s
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
    a.warming_paused_at as "pausedAt", a.warming_pause_reason as "pauseReason",
    a.sending_status as "sendingStatus", a.sending_status_reason as "sendingReason",
    a.sending_status_since as "sendingSince", a.sending_allowed as "sendingLimit", a.allowed as limit,
    coalesce(g.last_grant, 0) as granted,
    -- What was not granted is used up, though others may have done that after this statement's snapshot.
    coalesce(g.recipients, greatest(u.recipients, a.allowed), 0) as used
  from asked a
  left join granted g on g.organization_id = a.organization_id and g.domain_id = a.id
  left join warm_up_usage u
    on u.organization_id = a.organization_id and u.domain_id = a.id and u.day = $5::date and g.domain_id is null`;

/**
 * @param wanted holds each domain once
 * @param dailyLimits of day 1, day 2 and so on of a warm-up; null: no warm-up is applied
 * @param day the UTC date of `now`
 */
export function reserveRecipients(
  wanted: readonly { organizationId: string; domainId: string; recipients: number }[],
  dailyLimits: readonly number[] | null,
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
