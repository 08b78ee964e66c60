import { ValidationError } from '../../errors/app-error';
import { isUuid, type ListedPage } from '../../ids';

/** The `pagination` of a response. @param reach the number of entries that page numbers can reach */
export function toPagination(
  { total, next, partial }: Pick<ListedPage, 'total'> & Partial<ListedPage>,
  { page, limit }: { readonly page: number; readonly limit: number },
  reach = Infinity,
) {
  return {
    page,
    limit,
    total,
    totalPages: Math.ceil(Math.min(total, reach) / limit),
    ...(partial && { partial }),
    ...toNextCursor(next),
  };
}

/** The `nextCursor` of a response; nothing on the last page. @param place where the next page begins, as text */
export function toNextCursor(place: string | undefined): { nextCursor?: string } {
  return place === undefined ? {} : { nextCursor: Buffer.from(place).toString('base64url') };
}

/** Cuts off the entry that was read beyond a page. `last` is the one to continue after, undefined on the last page. */
export function cutPage<T>(found: readonly T[], limit: number): { shown: readonly T[]; last: T | undefined } {
  const shown = found.slice(0, limit);
  return { shown, last: found.length > limit ? shown.at(-1) : undefined };
}

/** The id to continue after. @throws ValidationError for a cursor that this service did not make */
export function fromCursor(cursor: string | undefined): string | undefined {
  if (cursor === undefined) return undefined;
  const id = Buffer.from(cursor, 'base64url').toString();
  if (!isUuid(id)) throw foreignCursor();
  return id;
}

/** The text to continue after, in a list by name. @throws ValidationError for a cursor that this service did not make */
export function fromNameCursor(cursor: string | undefined): string | undefined {
  if (cursor === undefined) return undefined;
  const name = Buffer.from(cursor, 'base64url').toString();
  if (name === '' || name.includes('\0') || toNextCursor(name).nextCursor !== cursor) throw foreignCursor();
  return name;
}

/** A place in a list that is in the order of times, and of ids where those are equal. */
export interface TimedPlace {
  /** ISO 8601 in UTC, as exact as the database orders by: a `Date` ends at milliseconds, of which rows may share one. */
  readonly at: string;
  readonly id: string;
}

/** For `toNextCursor`. */
export function placeOf({ at, id }: TimedPlace): string {
  return `${at} ${id}`;
}

/** The place to continue after. @throws ValidationError for a cursor that this service did not make */
export function fromTimedCursor(cursor: string | undefined): TimedPlace | undefined {
  if (cursor === undefined) return undefined;
  const [time = '', id = '', ...others] = Buffer.from(cursor, 'base64url').toString().split(' ');
  if (!isTime(time) || !isUuid(id) || others.length > 0) throw foreignCursor();
  return { at: time, id };
}

/** To milliseconds or microseconds. */
function isTime(text: string): boolean {
  const milliseconds = text.replace(/(\.\d{3})\d{3}Z$/, '$1Z');
  const date = new Date(milliseconds);
  return !Number.isNaN(date.getTime()) && date.toISOString() === milliseconds;
}

function foreignCursor(): ValidationError {
  return new ValidationError({ cursor: ['cursor must be a nextCursor of this list'] });
}
