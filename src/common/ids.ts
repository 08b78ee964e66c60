import { v7 } from 'uuid';

/** A new UUID version 7 (RFC 9562): sorts by creation time, which the partitioning and the lists rely on. */
export function newId(): string {
  return v7();
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** True for a lower- or upper-case UUID in the usual form; anything else names nothing. */
export function isUuid(value: string): boolean {
  return UUID.test(value.toLowerCase());
}

/** The time in a UUID version 7, in milliseconds since the epoch. */
export function timeOfId(id: string): number {
  return parseInt(id.slice(0, 8) + id.slice(9, 13), 16);
}

/** The smallest UUID version 7 of a millisecond: a bound for ranges of ids. */
export function firstIdAt(time: Date): string {
  const hex = Math.max(0, time.getTime()).toString(16).padStart(12, '0');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-0000-0000-000000000000`;
}
