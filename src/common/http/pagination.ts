import { ValidationError } from '../errors/app-error';
import { isUuid, type ListedPage } from '../ids';

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
