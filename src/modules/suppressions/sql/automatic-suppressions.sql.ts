// Automatic suppressions: a hard bounce or a complaint lists an address at once, soft bounces
// and DNS checks that find no such domain are counted first.
import { addressKey } from '../../../common/mail-address';
import { newId } from '../../../common/ids';
import type { Statement } from '../../../database/statements/statement';
import type { MissingDomainLookup, NewSuppression, SoftBounce } from '../suppression';

/**
 * SQL: how an automatic suppression changes an existing entry: one in force keeps its first date and
 * takes the later expiry, one that has expired is replaced.
 */
const KEEP_OR_REPLACE = `
  on conflict (organization_id, mode, address_key, reason) do update
    set (id, email, source, notes, suppressed_at, expires_at) = (
      select excluded.id, excluded.email, excluded.source, excluded.notes, excluded.suppressed_at, excluded.expires_at
      where suppressions.expires_at <= excluded.suppressed_at
      union all
      select suppressions.id, suppressions.email, suppressions.source, suppressions.notes, suppressions.suppressed_at,
        case
          when suppressions.expires_at is null or excluded.expires_at is null then null
          else greatest(suppressions.expires_at, excluded.expires_at)
        end
      where suppressions.expires_at <= excluded.suppressed_at is not true
    )`;

// Lists addresses automatically.
// Writes: suppressions (primary key). Locks: rows in key order. Rows: the hard bounces of one settled batch.
// Not the ORM: part of the settle transaction.
const ADD_SUPPRESSIONS = `
  insert into suppressions (organization_id, mode, address_key, reason, id, email, source, suppressed_at, expires_at)
  select distinct on (organization_id, mode, address_key, reason)
    organization_id, mode, address_key, reason, id, email, 'automatic', $8::timestamptz, expires_at
  from unnest($1::uuid[], $2::text[], $3::text[], $4::text[], $5::uuid[], $6::text[], $7::timestamptz[])
    as given (organization_id, mode, address_key, reason, id, email, expires_at)
  order by organization_id, mode, address_key, reason
  ${KEEP_OR_REPLACE}`;

/** @param rows may name an address more than once; entries in force keep their date */
export function addSuppressions(rows: readonly NewSuppression[], now: Date): Statement<never> {
  return {
    name: 'add-suppressions',
    text: ADD_SUPPRESSIONS,
    values: [
      rows.map((row) => row.organizationId),
      rows.map((row) => row.mode),
      rows.map((row) => addressKey(row.email)),
      rows.map((row) => row.reason),
      rows.map(() => newId()),
      rows.map((row) => row.email),
      rows.map((row) => row.expiresAt ?? null),
      now,
    ],
  };
}

export interface SoftBounceRule {
  /** This many soft bounces suppress an address, … */
  readonly bounces: number;
  /** … if they occur within this many days, … */
  readonly windowDays: number;
  /** … for this many days from the last one. */
  readonly suppressedDays: number;
}

// Records soft bounces, and lists an address for a while once it has had enough of them within the window.
// Writes: soft_bounces, suppressions (primary keys). Locks: rows in key order, those of soft_bounces first; the row lock
// serializes transactions that count the same address. Rows: the soft bounces of one settled batch.
// Not the ORM: part of the settle transaction, in one step.
const RECORD_SOFT_BOUNCES = `
  with given as (
    select organization_id, mode, address_key, min(email) as email, (array_agg(id))[1] as id,
      latest_within(array_agg(bounced_at), $7 * interval '1 day', $8) as bounced_at
    from unnest($1::uuid[], $2::text[], $3::text[], $4::text[], $5::uuid[], $6::timestamptz[])
      as reported (organization_id, mode, address_key, email, id, bounced_at)
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

/** @param rows one per bounce, several of an address too */
export function recordSoftBounces(rows: readonly SoftBounce[], rule: SoftBounceRule, now: Date): Statement<never> {
  return {
    name: 'record-soft-bounces',
    text: RECORD_SOFT_BOUNCES,
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

// Records that a recipient's domain did not exist in DNS, and lists the address once that was so on two days: a lapsed
// registration or a mistake in a zone is often corrected by the next day. The days are the database's; an observation older than
// the window starts again.
// Writes: missing_domains, suppressions (primary keys). Locks: rows in key order, those of missing_domains first.
// Rows: the bounces of one settled batch. Not the ORM: part of the settle transaction, in one step.
const RECORD_MISSING_DOMAINS = `
  with given as (
    select organization_id, mode, address_key, min(email) as email, (array_agg(id))[1] as id,
      (clock_timestamp() at time zone 'UTC')::date as today
    from unnest($1::uuid[], $2::text[], $3::text[], $4::text[], $5::uuid[])
      as reported (organization_id, mode, address_key, email, id)
    group by organization_id, mode, address_key
  ), seen as (
    insert into missing_domains as known (organization_id, mode, address_key, first_seen_on, last_seen_on)
    select organization_id, mode, address_key, today, today
    from given
    order by organization_id, mode, address_key
    on conflict (organization_id, mode, address_key) do update
      set first_seen_on = case
          when known.last_seen_on < excluded.last_seen_on - $6::int then excluded.first_seen_on else known.first_seen_on
        end,
        last_seen_on = greatest(known.last_seen_on, excluded.last_seen_on)
    returning organization_id, mode, address_key, first_seen_on, last_seen_on
  )
  insert into suppressions (organization_id, mode, address_key, reason, id, email, source, suppressed_at, expires_at)
  select organization_id, mode, address_key, 'hard_bounce', given.id, given.email, 'automatic', clock_timestamp(), null
  from seen
  join given using (organization_id, mode, address_key)
  where first_seen_on < last_seen_on
  order by organization_id, mode, address_key
  ${KEEP_OR_REPLACE}`;

/** @param rows may name an address more than once: the day counts once */
export function recordMissingDomains(rows: readonly MissingDomainLookup[], windowDays: number): Statement<never> {
  return {
    name: 'record-missing-domains',
    text: RECORD_MISSING_DOMAINS,
    values: [
      rows.map((row) => row.organizationId),
      rows.map((row) => row.mode),
      rows.map((row) => addressKey(row.email)),
      rows.map((row) => row.email),
      rows.map(() => newId()),
      windowDays,
    ],
  };
}
