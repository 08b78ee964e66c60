// Which of our addresses which receivers refuse, as any worker has met it.
import type { Statement } from '../../../database/statement';

/** An address that a receiver refuses for what it is known for. */
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
const LIST = `
  select address, key, cause, until, extract(epoch from until - now())::float8 * 1000 as "forMs"
  from egress_suspensions
  where until > now()
  order by address, key`;

export function listSuspensions(): Statement<HeldSuspension> {
  return { name: 'list-egress-suspensions', text: LIST, values: [] };
}

// Removes those that are over for a day.
// Writes: egress_suspensions (whole: a few). Locks: the rows. Rows: a few. Not the ORM: the server's clock.
const REMOVE = `delete from egress_suspensions where until < now() - interval '1 day' returning 1 as removed`;

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
