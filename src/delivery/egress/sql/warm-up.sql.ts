// How far the addresses of the pools are with their warm-up, and what they have sent today.
import type { Statement } from '../../../database/statements/statement';

// Pools that an installation has when this table comes count as warm: the migration leaves a row for that, which the first
// worker takes away.
const EARLIER = '*';

// Makes the addresses of the pools known; those that are known stay as they are, unless the file calls them warm.
// Writes: egress_addresses (primary key). Locks: the rows of the pools. Rows: some dozens, when a worker begins.
// Not the ORM: an upsert that looks at what the migration has left.
const REGISTER = `
  with earlier as (
    delete from egress_addresses where address = '${EARLIER}' returning 1
  )
  insert into egress_addresses as a (address, warm_up_ended_at)
  select w.address, case when w.is_warm or exists (select from earlier) then now() end
  from unnest($1::text[], $2::bool[]) as w (address, is_warm)
  order by w.address
  on conflict (address) do update set warm_up_ended_at = excluded.warm_up_ended_at
  where a.warm_up_ended_at is null and excluded.warm_up_ended_at is not null`;

/** @param addresses empty, too: what this installation has later is new */
export function registerAddresses(addresses: readonly { address: string; isWarm: boolean }[]): Statement<never> {
  const values = [addresses.map(({ address }) => address), addresses.map(({ isWarm }) => isWarm)];
  return { name: 'register-egress-addresses', text: REGISTER, values };
}

/** An address, and how far it is. */
export interface AddressProgress {
  readonly address: string;
  /** Days with mail so far, today among them; 0: it has not sent yet. */
  readonly day: number;
  /** The day above is today. */
  readonly isToday: boolean;
  readonly isWarm: boolean;
  readonly startedAt: Date;
}

const LIST = `
  select address, warm_up_day as day, coalesce(warm_up_date = (now() at time zone 'utc')::date, false) as "isToday",
    warm_up_ended_at is not null as "isWarm", warm_up_started_at as "startedAt"
  from egress_addresses
  where address <> '${EARLIER}'
  order by address`;

// Reads: egress_addresses (whole: some dozens). Locks: none. Rows: all. Not the ORM: the server's day.
/** Returns every registered address with its warm-up. */
export function listAddresses(): Statement<AddressProgress> {
  return { name: 'list-egress-addresses', text: LIST, values: [] };
}

// The first mail of a day begins a day of the warm-up; after the last one it is over.
// Writes: egress_addresses (primary key). Locks: one row until the commit, once a day. Rows: one at most. Not the ORM: the server's day.
const BEGIN_DAY = `
  update egress_addresses set
    warm_up_day = warm_up_day + 1,
    warm_up_date = (now() at time zone 'utc')::date,
    warm_up_ended_at = case when warm_up_day >= $2 then now() end
  where address = $1 and warm_up_ended_at is null
    and warm_up_date is distinct from (now() at time zone 'utc')::date`;

// Writes: egress_volumes (primary key). Locks: the new row. Rows: one for a provider and a day. Not the ORM: the server's day.
const OPEN_ACCOUNT = `
  insert into egress_volumes (address, day, provider, taken)
  values ($1, (now() at time zone 'utc')::date, $2, 0)
  on conflict do nothing`;

// Takes a part of what the address may still send to the provider today.
// Writes: egress_volumes (primary key). Reads: egress_addresses (primary key). Locks: one row until the commit that follows; workers
// take a twentieth of a day's volume at a time, so that it is not hot. Rows: one. Not the ORM: a bounded increment by the server's
// day.
const TAKE = `
  with account as materialized (
    select v.taken, a.warm_up_ended_at is not null as is_warm, ($4::int[])[a.warm_up_day] as volume
    from egress_volumes v
    join egress_addresses a on a.address = v.address
    where v.address = $1 and v.provider = $2 and v.day = (now() at time zone 'utc')::date
    for update of v
  ), granted as (
    select is_warm, volume, greatest(0, least($3::int, volume - taken)) as amount from account
  ), written as (
    update egress_volumes v set taken = v.taken + g.amount
    from granted g
    where g.amount > 0 and v.address = $1 and v.provider = $2 and v.day = (now() at time zone 'utc')::date
  )
  select coalesce(amount, 0) as granted, volume, is_warm as "isWarm",
    extract(epoch from ((now() at time zone 'utc')::date + 1)::timestamp at time zone 'utc' - now())::float8 * 1000 as "dayLeftMs"
  from granted`;

/** What a worker got of a day's volume. */
export interface TakenVolume {
  readonly granted: number;
  /** Of the whole day; null after the last day of the schedule. */
  readonly volume: number | null;
  readonly isWarm: boolean;
  readonly dayLeftMs: number;
}

/** In this order, in one transaction; the last one returns what was granted. @param schedule daily volumes */
export function takeVolume(
  address: string,
  provider: string,
  wanted: number,
  schedule: readonly number[],
): readonly [Statement<TakenVolume>, Statement<TakenVolume>, Statement<TakenVolume>] {
  return [
    { name: 'begin-warm-up-day', text: BEGIN_DAY, values: [address, schedule.length] },
    { name: 'open-warm-up-account', text: OPEN_ACCOUNT, values: [address, provider] },
    { name: 'take-warm-up-volume', text: TAKE, values: [address, provider, wanted, schedule] },
  ];
}

// Gives back what a worker has taken today and did not use.
// Writes: egress_volumes (primary key). Locks: those rows, in key order. Rows: a worker's providers. Not the ORM: the server's day.
const RETURN = `
  with given as (
    select v.address, v.day, v.provider, g.amount
    from egress_volumes v
    join unnest($1::text[], $2::text[], $3::int[]) as g (address, provider, amount) using (address, provider)
    where v.day = (now() at time zone 'utc')::date
    order by v.address, v.day, v.provider
    for update of v
  )
  update egress_volumes v set taken = greatest(0, v.taken - g.amount)
  from given g
  where v.address = g.address and v.day = g.day and v.provider = g.provider`;

export interface UnusedVolume {
  readonly address: string;
  readonly provider: string;
  readonly amount: number;
}

/** Returns today's volume that a worker took and did not use. */
export function returnVolume(unused: readonly UnusedVolume[]): Statement<never> {
  return {
    name: 'return-warm-up-volume',
    text: RETURN,
    values: [
      unused.map(({ address }) => address),
      unused.map(({ provider }) => provider),
      unused.map(({ amount }) => amount),
    ],
  };
}

/** Sent today to one provider, and what workers hold ready for it. */
export interface TodaysVolume {
  readonly address: string;
  readonly provider: string;
  readonly taken: number;
}

// Reads: egress_volumes (index egress_volumes_day). Locks: none. Rows: at most 20 for each address, the busiest.
// Not the ORM: the server's day, and the first of each group.
const TODAY = `
  select address, provider, taken
  from (
    select address, provider, taken, row_number() over (partition by address order by taken desc, provider) as place
    from egress_volumes
    where day = (now() at time zone 'utc')::date and taken > 0
  ) ranked
  where place <= 20
  order by address, place`;

/** Returns today's volumes, at most 20 providers for each address. */
export function listTodaysVolumes(): Statement<TodaysVolume> {
  return { name: 'list-warm-up-volumes', text: TODAY, values: [] };
}

// Writes: egress_addresses (primary key). Locks: one row. Rows: one. Not the ORM: an upsert by the server's clock.
const CHANGE = `
  insert into egress_addresses as a (address, warm_up_ended_at)
  values ($1, case when $2 then now() end)
  on conflict (address) do update set
    warm_up_ended_at = excluded.warm_up_ended_at,
    warm_up_day = case when $2 then a.warm_up_day else 0 end,
    warm_up_date = case when $2 then a.warm_up_date end,
    warm_up_started_at = case when $2 then a.warm_up_started_at else now() end`;

/** @param isWarm false: restart with day 1 */
export function changeWarmUp(address: string, isWarm: boolean): Statement<never> {
  return { name: 'change-warm-up', text: CHANGE, values: [address, isWarm] };
}

// Removes volumes that are older than a week; days of the warm-up are counted in egress_addresses.
// Writes: egress_volumes (index egress_volumes_day). Locks: those rows. Rows: those of one day. Not the ORM: the server's day.
const REMOVE = `
  with removed as (
    delete from egress_volumes where day < (now() at time zone 'utc')::date - 7 returning 1
  )
  select count(*)::int as removed from removed`;

/** Deletes volumes that are older than a week. One row: how many. */
export function removeOldVolumes(): Statement<{ removed: number }> {
  return { name: 'remove-warm-up-volumes', text: REMOVE, values: [] };
}
