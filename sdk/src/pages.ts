interface Pagination {
  readonly nextCursor?: string;
  readonly hasMore?: boolean;
  readonly page?: number;
  readonly totalPages?: number;
  readonly offset?: number;
  readonly limit?: number;
}

interface Page<Item> {
  readonly data?: readonly Item[];
  /** Of privacy requests, whose list stands within `data`. */
  readonly requests?: readonly Item[];
  /** Of lists without `pagination`. */
  readonly total?: number;
  readonly pagination?: Pagination;
}

/**
 * Every item of a list, page by page as they are asked for.
 * @param cursorName the query's name for the `nextCursor` of the page before
 */
export async function* itemsOf<Item>(
  read: (query: Record<string, unknown>) => Promise<unknown>,
  query: object = {},
  cursorName: 'cursor' | 'after' = 'cursor',
): AsyncGenerator<Item, void, undefined> {
  let next: Record<string, unknown> | undefined = { ...query };
  let seen = 0;
  while (next) {
    const page = (await read(next)) as Page<Item>;
    const items = page.data ?? page.requests ?? [];
    yield* items;
    seen += items.length;
    if (cursorName === 'after') next = afterEvent(next, page);
    else next = items.length === 0 ? undefined : after(next, page, seen);
  }
}

/** Pages of the feed may be short, or empty, while there is more. */
function afterEvent(
  query: Record<string, unknown>,
  { pagination }: Page<unknown>,
): Record<string, unknown> | undefined {
  if (!pagination?.hasMore || pagination.nextCursor === undefined) return undefined;
  return { ...query, from: undefined, after: pagination.nextCursor };
}

function after(query: Record<string, unknown>, page: Page<unknown>, seen: number): Record<string, unknown> | undefined {
  if (page.pagination) return afterPage(query, page.pagination);
  if (seen >= (page.total ?? 0)) return undefined;
  return page.requests
    ? { ...query, offset: Number(query.offset ?? 0) + page.requests.length }
    : { ...query, page: Number(query.page ?? 1) + 1 };
}

function afterPage(query: Record<string, unknown>, pagination: Pagination): Record<string, unknown> | undefined {
  const { nextCursor, hasMore, page, totalPages, offset, limit } = pagination;
  if (hasMore === false) return undefined;
  if (nextCursor !== undefined) return { ...query, page: undefined, cursor: nextCursor };
  if (page !== undefined && totalPages !== undefined) {
    return page < totalPages ? { ...query, page: page + 1 } : undefined;
  }
  if (hasMore && offset !== undefined && limit !== undefined) return { ...query, offset: offset + limit };
  return undefined;
}
