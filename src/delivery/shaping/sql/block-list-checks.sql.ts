// What block lists say of the installation's own addresses.
import type { Statement } from '../../../database/statement';

/** `unknown`: the list did not answer, or refuses to; nothing may be concluded. */
export type ListingState = 'listed' | 'clear' | 'unknown';

export interface Listing {
  readonly address: string;
  /** The zone of the list. */
  readonly list: string;
  readonly state: ListingState;
  /** What the list says, for people. */
  readonly reply: string;
}

/** Silence ends no listing: its alert would begin anew. */
const IS_KEPT = `b.state = 'listed' and excluded.state = 'unknown'`;

// Puts the newest look-ups in the place of all before; an address or a list that is gone goes.
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

export function newestAge(): Statement<{ ageMs: number | null }> {
  return { name: 'newest-block-list-check', text: AGE, values: [] };
}

/** As it was found last. */
export interface HeldListing extends Listing {
  /** Since when it has been in this state. */
  readonly since: Date;
  readonly checkedAt: Date;
}

// What block lists said last.
// Reads: block_list_checks. Locks: none. Rows: some tens.
// Not the ORM: a read beside the other statements of its table.
const LIST = `
  select address, list, state, reply, since, checked_at as "checkedAt"
  from block_list_checks
  order by address, list`;

export function listChecks(): Statement<HeldListing> {
  return { name: 'list-block-list-checks', text: LIST, values: [] };
}
