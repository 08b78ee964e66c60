import type { WorkTurns } from '../../../common/async/fair-turns';
import { AppError, type FieldErrors, ValidationError } from '../../../common/errors/app-error';
import { cutPage, fromTimedCursor, placeOf, toNextCursor } from '../../../common/http/dto/pagination';
import { validateDto } from '../../../common/http/dto/validate-dto';
import { parseAddress } from '../../../common/mail-address';
import type { ListedSuppression, Suppression } from '../suppression.entity';
import type { NewEntry } from '../suppression-list.service';
import {
  AddSuppressionDto,
  type ListSuppressionsQuery,
  type SuppressionBatchDto,
  type SuppressionDto,
} from './suppression.dto';

export const MAX_BATCH = 1_000;

/** The normal form of an address. RFC 5321 allows a `*` alone before the @, but a pattern is meant. @throws ValidationError */
export function toAddress(email: string): string {
  if (/^\*+@/.test(email)) {
    throw new ValidationError({ email: ['email must be one address: patterns such as *@example.com match no one'] });
  }
  const address = parseAddress(email);
  if (!address.ok) throw new ValidationError({ email: [`email ${address.message}`] });
  return address.email;
}

/** @throws ValidationError for an address that cannot be listed */
export function toNewEntry({ email, reason, notes }: AddSuppressionDto): NewEntry {
  return { email: toAddress(email), reason, ...(notes && { notes }) };
}

/** Validates element by element in turns of the event loop. @throws ValidationError unless the body is an array of 1 to 1,000 elements */
export async function toBatch(body: unknown, turns: WorkTurns): Promise<(NewEntry | AppError)[]> {
  if (Array.isArray(body) && body.length >= 1 && body.length <= MAX_BATCH) return turns.map(body, toBatchItem);
  throw new ValidationError({ body: [`body must be an array of 1 to ${MAX_BATCH} suppressions`] });
}

/** Converts an element; one that the JSON reader has refused already is an AppError. */
function toBatchItem(item: unknown, index: number): NewEntry | AppError {
  if (item instanceof AppError) return item;
  try {
    return toNewEntry(validateDto(AddSuppressionDto, item));
  } catch (error) {
    if (!(error instanceof ValidationError)) throw error;
    const { validation } = error.details as { validation: FieldErrors };
    const located = Object.entries(validation).map(([path, messages]) => [`${index}.${path}`, messages] as const);
    return new ValidationError(Object.fromEntries(located));
  }
}

/** @param results one for each element of the request, in its order */
export function toBatchDto(results: readonly (Suppression | AppError)[]): SuppressionBatchDto {
  const failed = results.filter((result) => result instanceof AppError).length;
  const data = results.map((result, index) => {
    if (!(result instanceof AppError)) return { index, id: result.id };
    const { code, message, details, suggestion } = result;
    return { index, code, error: message, ...(details && { details }), ...(suggestion && { suggestion }) };
  });
  return { data, summary: { total: results.length, successful: results.length - failed, failed } };
}

/** For one entry more than a page has, which shows whether there is a next one. @throws ValidationError for a foreign cursor */
export function toSlice({ limit, offset, cursor }: ListSuppressionsQuery) {
  const after = fromTimedCursor(cursor);
  return { limit: limit + 1, offset: after ? 0 : offset, after };
}

/** @param found as `toSlice` asks for */
export function toListDto(
  found: readonly ListedSuppression[],
  total: number,
  { limit, offset }: ListSuppressionsQuery,
) {
  const { shown, last } = cutPage(found, limit);
  const next = last && placeOf({ at: last.listedAt, id: last.id });
  const pagination = { total, limit, offset, hasMore: last !== undefined, ...toNextCursor(next) };
  return { data: shown.map(toSuppressionDto), pagination };
}

export function toSuppressionDto(entry: Suppression): SuppressionDto {
  const { id, email, reason, source, suppressedAt, notes, expiresAt } = entry;
  return {
    ...{ id, email, reason, source },
    suppressedAt: suppressedAt.toISOString(),
    ...(notes !== null && { notes }),
    ...(expiresAt !== null && { expiresAt: expiresAt.toISOString() }),
  };
}
