import type { Statement } from '../../../database/statements/statement';

// Our source addresses: which receivers refuse them, as any worker has met it, and what block lists say of them.

/** An address that a receiver refuses for its reputation. */
export interface Suspension {
  readonly address: string;
  /** The group of destinations. */
  readonly key: string;
  readonly cause: string;
  readonly forMs: number;
}

/** One that holds. */
export interface HeldSuspension {
  address: string;
  key: string;
  cause: string;
  until: Date;
  forMs: number;
}

/** One that has been written; new: it did not hold before. */
export type WrittenSuspension = Omit<HeldSuspension, 'forMs'> & { readonly isNew: boolean };

// Writes what a worker has met; a later refusal prolongs it. Says which of them are new.
// Writes: egress_suspensions (primary key). Locks: those rows, in key order. Rows: a few, seldom.
// Not the ORM: an upsert by the server's clock.
const WRITE = `
  insert into egress_suspensions as s (address, key, cause, until)
  select address, key, cause, now() + for_ms * interval '1 millisecond'
  from unnest($1::text[], $2::text[], $3::text[], $4::float8[]) as w (address, key, cause, for_ms)
  order by address, key
  on conflict (address, key) do update set
    cause = excluded.cause, until = greatest(s.until, excluded.until),
    created_at = case when s.until > now() then s.created_at else now() end
  returning address, key, cause, until, created_at = now() as "isNew"`;

/** @param suspensions no two of one address and group */
export function writeSuspensions(suspensions: readonly Suspension[]): Statement<WrittenSuspension> {
  return {
    name: 'write-egress-suspensions',
    text: WRITE,
    values: [
      suspensions.map(({ address }) => address),
      suspensions.map(({ key }) => key),
      suspensions.map(({ cause }) => cause),
      suspensions.map(({ forMs }) => forMs),
    ],
  };
}

// Those that hold.
// Reads: egress_suspensions (whole: a few). Locks: none. Rows: all that are not over. Not the ORM: the server's clock.
const LIST_SUSPENSIONS = `
  select address, key, cause, until, extract(epoch from until - now())::float8 * 1000 as "forMs"
  from egress_suspensions
  where until > now()
  order by address, key`;

/** Returns the suspensions of addresses in force. */
export function listSuspensions(): Statement<HeldSuspension> {
  return { name: 'list-egress-suspensions', text: LIST_SUSPENSIONS, values: [] };
}

// Removes those that are over for a day.
// Writes: egress_suspensions (whole: a few). Locks: the rows. Rows: a few. Not the ORM: the server's clock.
const REMOVE = `delete from egress_suspensions where until < now() - interval '1 day' returning 1 as removed`;

/** Deletes suspensions that ended a day ago, and returns a row for each. */
export function removeSuspensions(): Statement<{ removed: 1 }> {
  return { name: 'remove-egress-suspensions', text: REMOVE, values: [] };
}

// Ends suspensions before their time.
// Writes: egress_suspensions (primary key). Locks: those rows. Rows: one, or those of an address. Not the ORM: the server's clock.
const END = `
  delete from egress_suspensions
  where address = $1 and ($2::text is null or key = $2) and until > now()
  returning key`;

/** @param key undefined: of all receivers */
export function endSuspensions(address: string, key: string | undefined): Statement<{ key: string }> {
  return { name: 'end-egress-suspensions', text: END, values: [address, key ?? null] };
}

/** `unknown`: the list did not reply, or refuses to; no conclusion. */
export type ListingState = 'listed' | 'clear' | 'unknown';

export interface Listing {
  readonly address: string;
  /** The zone of the list. */
  readonly list: string;
  readonly state: ListingState;
  /** The list's text, for operators. */
  readonly reply: string;
}

/** No reply does not end a listing: its alert would start again. */
const IS_KEPT = `b.state = 'listed' and excluded.state = 'unknown'`;

// Replaces all earlier look-ups by the newest; an address or a list that is gone is removed.
// Writes: block_list_checks (primary key). Locks: those rows, in key order. Rows: addresses times lists, some tens, hourly.
// Not the ORM: a replacement by the server's clock in one step.
const REPLACE = `
  with given as (
    select * from unnest($1::text[], $2::text[], $3::text[], $4::text[]) as g (address, list, state, reply)
  ), gone as (
    delete from block_list_checks b
    where not exists (select 1 from given g where g.address = b.address and g.list = b.list)
  )
  insert into block_list_checks as b (address, list, state, reply)
  select address, list, state, reply from given order by address, list
  on conflict (address, list) do update set
    checked_at = now(),
    state = case when ${IS_KEPT} then b.state else excluded.state end,
    reply = case when ${IS_KEPT} then b.reply else excluded.reply end,
    since = case when ${IS_KEPT} or b.state = excluded.state then b.since else now() end`;

/** @param listings each address and list once */
export function replaceChecks(listings: readonly Listing[]): Statement<never> {
  return {
    name: 'replace-block-list-checks',
    text: REPLACE,
    values: [
      listings.map(({ address }) => address),
      listings.map(({ list }) => list),
      listings.map(({ state }) => state),
      listings.map(({ reply }) => reply),
    ],
  };
}

// How old the newest look-up is; null before the first.
// Reads: block_list_checks. Locks: none. Rows: some tens.
// Not the ORM: by the server's clock.
const AGE = `
  select (extract(epoch from now() - max(checked_at)) * 1000)::float8 as "ageMs" from block_list_checks`;

/** One row: milliseconds since the newest block-list check; null before the first one. */
export function newestAge(): Statement<{ ageMs: number | null }> {
  return { name: 'newest-block-list-check', text: AGE, values: [] };
}

/** As it was found last. */
export interface HeldListing extends Listing {
  /** Since when it has been in this state. */
  readonly since: Date;
  readonly checkedAt: Date;
}

// The last results of block lists.
// Reads: block_list_checks. Locks: none. Rows: some tens.
// Not the ORM: a read beside the other statements of its table.
const LIST_CHECKS = `
  select address, list, state, reply, since, checked_at as "checkedAt"
  from block_list_checks
  order by address, list`;

/** Returns the last result of every address and block list. */
export function listChecks(): Statement<HeldListing> {
  return { name: 'list-block-list-checks', text: LIST_CHECKS, values: [] };
}
