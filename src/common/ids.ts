import { randomFillSync } from 'node:crypto';
import { v7 } from 'uuid';
import { type Clock, SystemClock } from './clock';
import { ValidationError } from './errors/app-error';

const ID_BYTES = 16;
/** Random bytes for many ids at a time: fetched for each they cost more than all the rest of an id (4 µs of 5). */
const pool = Buffer.alloc(256 * ID_BYTES);
let usedBytes = pool.length;

/**
 * Makes UUIDs version 7 (RFC 9562): they sort by creation time, which the partitioning and the lists rely on. Those of one
 * millisecond count up from a random number of 31 bits, so that a batch keeps its order; when the clock is set back, they
 * keep the last time until it is reached again.
 */
export class IdGenerator {
  private lastMs = -Infinity;
  private sequence = 0;

  constructor(private readonly clock: Pick<Clock, 'now'>) {}

  next(): string {
    const random = nextRandom();
    const nowMs = this.clock.now().getTime();
    if (nowMs > this.lastMs) {
      this.lastMs = nowMs;
      this.sequence = random.readUInt32BE(0) >>> 1;
    } else {
      this.sequence += 1;
    }
    return v7({ random, msecs: this.lastMs, seq: this.sequence });
  }
}

const generator = new IdGenerator(new SystemClock());

/** A new id of this process. */
export function newId(): string {
  return generator.next();
}

function nextRandom(): Buffer {
  if (usedBytes === pool.length) {
    randomFillSync(pool);
    usedBytes = 0;
  }
  usedBytes += ID_BYTES;
  return pool.subarray(usedBytes - ID_BYTES, usedBytes);
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** True for a lower- or upper-case UUID in the usual form; anything else names nothing. */
export function isUuid(value: string): boolean {
  return UUID.test(value.toLowerCase());
}

/** Sorts before every id: where a walk over ids starts. */
export const NIL_ID = '00000000-0000-0000-0000-000000000000';
export const LAST_ID = 'ffffffff-ffff-ffff-ffff-ffffffffffff';

/** The smallest UUID version 7 of a millisecond: a bound for ranges of ids. */
export function firstIdAt(time: Date): string {
  const hex = Math.max(0, time.getTime()).toString(16).padStart(12, '0');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-0000-0000-000000000000`;
}

/** When a UUID version 7 was made, to the millisecond. */
export function timeOfId(id: string): Date {
  return new Date(Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16));
}

/** Of a list with pages and cursors, newest first. */
export interface ListedPage {
  readonly total: number;
  /** The id to continue after; undefined at the end. */
  readonly next: string | undefined;
  /** True when the newest entries only were examined: `total` counts among those. */
  readonly partial: boolean;
}

/** @param reach so many entries can be had by number of page */
export function toPagination(
  { total, next, partial }: ListedPage,
  { page, limit }: { readonly page: number; readonly limit: number },
  reach = Infinity,
) {
  return {
    page,
    limit,
    total,
    totalPages: Math.ceil(Math.min(total, reach) / limit),
    ...(partial && { partial }),
    ...(next !== undefined && { nextCursor: Buffer.from(next).toString('base64url') }),
  };
}

/** The id to continue after. @throws ValidationError for a cursor that this service did not make */
export function fromCursor(cursor: string | undefined): string | undefined {
  if (cursor === undefined) return undefined;
  const id = Buffer.from(cursor, 'base64url').toString();
  if (!isUuid(id)) throw new ValidationError({ cursor: ['cursor must be a nextCursor of this list'] });
  return id;
}
