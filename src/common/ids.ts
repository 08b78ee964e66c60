import { randomFillSync } from 'node:crypto';
import { v7 } from 'uuid';
import { type Clock, MINUTE, SystemClock } from './clock';

const ID_BYTES = 16;
/** Random bytes for many ids at a time: fetched one by one they take 4 of the 5 µs of an id. */
const pool = Buffer.alloc(256 * ID_BYTES);
let usedBytes = pool.length;
/** Further than this no id stays ahead of a clock that was set back: it had been wrong. */
const LONGEST_LEAD_MS = MINUTE;

/**
 * Makes UUIDs version 7 (RFC 9562): they sort by creation time, which partitions and lists rely on. Ids of one millisecond
 * count up from a random 31-bit number; when the clock is set back by up to a minute, the last time is kept until it is
 * reached again.
 */
export class IdGenerator {
  private lastMs = -Infinity;
  private sequence = 0;

  constructor(private readonly clock: Pick<Clock, 'now'>) {}

  next(): string {
    const random = nextRandom();
    const nowMs = this.clock.now().getTime();
    if (nowMs > this.lastMs || nowMs < this.lastMs - LONGEST_LEAD_MS) {
      this.lastMs = nowMs;
      this.sequence = random.readUInt32BE(0) >>> 1;
    } else {
      this.sequence += 1;
    }
    return v7({ random, msecs: this.lastMs, seq: this.sequence });
  }
}

const bySystemClock = new IdGenerator(new SystemClock());
let generator = bySystemClock;

/** A new id of this process. */
export function newId(): string {
  return generator.next();
}

/**
 * From now on ids carry the time of this clock instead of the operating system's: an email's date, its month's partition and its
 * place in lists follow from the time in its id, which has to be the database's.
 *
 * @returns undoes that; call it when the clock is no longer updated
 */
export function useClockForIds(clock: Pick<Clock, 'now'>): () => void {
  const own = new IdGenerator(clock);
  generator = own;
  return () => {
    if (generator === own) generator = bySystemClock;
  };
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

/** True for a UUID in the usual form, in lower or upper case. */
export function isUuid(value: string): boolean {
  return UUID.test(value.toLowerCase());
}

/** Sorts before every id: the start of a walk over ids. */
export const NIL_ID = '00000000-0000-0000-0000-000000000000';
export const LAST_ID = 'ffffffff-ffff-ffff-ffff-ffffffffffff';

/** The smallest UUID version 7 of a millisecond: a bound for ranges of ids. */
export function firstIdAt(time: Date): string {
  const hex = Math.max(0, time.getTime()).toString(16).padStart(12, '0');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-0000-0000-000000000000`;
}

/** The id as a number, plus `offset`: 62 bits of ids are random, so no other id lies between the two. */
export function idPlus(id: string, offset: number): string {
  const number = BigInt(`0x${id.replaceAll('-', '')}`) + BigInt(offset);
  return number
    .toString(16)
    .padStart(32, '0')
    .replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
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
  /** True when only the newest entries were examined: `total` counts among those. */
  readonly partial: boolean;
}

/** What is read of a list by name. */
export interface NamedSlice {
  /** Only those that come after this name. */
  readonly after: string | undefined;
  readonly skip: number;
  readonly take: number;
}
