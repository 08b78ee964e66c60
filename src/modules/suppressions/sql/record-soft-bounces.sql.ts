// Remembers soft bounces, and lists an address for a while once it has had enough of them within the window.
// Writes: soft_bounces, suppressions (primary keys). Locks: rows in key order, those of soft_bounces first; the row lock
// makes two transactions count one after the other. Rows: the soft bounces of one settled batch.
// Not the ORM: part of the settle transaction, in one step.
import { addressKey } from '../../../common/mail-address';
import { newId } from '../../../common/ids';
import type { Statement } from '../../../database/statement';
import type { SoftBounce } from '../suppression';
import { KEEP_OR_REPLACE } from './suppression-conflict';

export interface SoftBounceRule {
  /** So many soft bounces suppress an address, … */
  readonly bounces: number;
  /** … if they come within so many days, … */
  readonly windowDays: number;
  /** … for so many days from the last. */
  readonly suppressedDays: number;
}

const TEXT = `
  with given as (
    select organization_id, mode, address_key, min(email) as email, (array_agg(id))[1] as id,
      latest_within(array_agg(bounced_at), $7 * interval '1 day', $8) as bounced_at
    from unnest($1::uuid[], $2::text[], $3::text[], $4::text[], $5::uuid[], $6::timestamptz[])
      as told (organization_id, mode, address_key, email, id, bounced_at)
    group by organization_id, mode, address_key
  ), counted as (
    insert into soft_bounces as known (organization_id, mode, address_key, bounced_at, last_bounced_at)
    select organization_id, mode, address_key, bounced_at, bounced_at[cardinality(bounced_at)]
    from given
    order by organization_id, mode, address_key
    on conflict (organization_id, mode, address_key) do update
      set bounced_at = latest_within(known.bounced_at || excluded.bounced_at, $7 * interval '1 day', $8),
        last_bounced_at = greatest(known.last_bounced_at, excluded.last_bounced_at)
    returning organization_id, mode, address_key, cardinality(known.bounced_at) as bounces, last_bounced_at
  )
  insert into suppressions (organization_id, mode, address_key, reason, id, email, source, suppressed_at, expires_at)
  select organization_id, mode, address_key, 'soft_bounce', given.id, given.email, 'automatic', $10::timestamptz,
    last_bounced_at + $9 * interval '1 day'
  from counted
  join given using (organization_id, mode, address_key)
  where bounces >= $8
  order by organization_id, mode, address_key
  ${KEEP_OR_REPLACE}`;

export function recordSoftBounces(rows: readonly SoftBounce[], rule: SoftBounceRule, now: Date): Statement<never> {
  return {
    name: 'record-soft-bounces',
    text: TEXT,
    values: [
      rows.map((row) => row.organizationId),
      rows.map((row) => row.mode),
      rows.map((row) => addressKey(row.email)),
      rows.map((row) => row.email),
      rows.map(() => newId()),
      rows.map((row) => row.at),
      rule.windowDays,
      rule.bounces,
      rule.suppressedDays,
      now,
    ],
  };
}
