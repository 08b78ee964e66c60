interface Pagination {
  readonly nextCursor?: string;
  readonly hasMore?: boolean;
  readonly total?: number;
  readonly offset?: number;
  readonly limit?: number;
}

interface Page<Item> {
  readonly data?: readonly Item[];
  /** Of privacy requests, whose list stands within `data`. */
  readonly requests?: readonly Item[];
  /** Of statistics, the same; read on by offset while there are more. */
  readonly domains?: readonly Item[];
  readonly hasMore?: boolean;
  /** Of lists without `pagination`. */
  readonly total?: number;
  readonly nextCursor?: string;
  readonly pagination?: Pagination;
}

type Query = Record<string, unknown>;

/** Items that a walk by places remembers, the last ones: a megabyte, however long the list. */
const MAX_REMEMBERED = 10_000;

/**
 * Every item of a list, page by page as they are asked for, also while they are deleted.
 * @param cursorName the query's name for the `nextCursor` of the page before
 */
export async function* itemsOf<Item>(
  read: (query: Query) => Promise<unknown>,
  query: object = {},
  cursorName: 'cursor' | 'after' = 'cursor',
): AsyncGenerator<Item, void, undefined> {
  let next: Query | undefined = { ...query };
  let places: Places | undefined;
  while (next) {
    const page = (await read(next)) as Page<Item>;
    const items = itemsIn(page);
    if (cursorName === 'after' || saysItsNext(next, page)) {
      yield* items;
      next = cursorName === 'after' ? afterEvent(next, page) : after(next, page);
    } else {
      places ??= new Places(next, page, items.length);
      yield* places.take(items, page);
      next = places.next;
    }
  }
}

const totalOf = ({ total, pagination }: Page<unknown>): number => total ?? pagination?.total ?? 0;

const nextCursorOf = ({ nextCursor, pagination }: Page<unknown>) => nextCursor ?? pagination?.nextCursor;

function itemsIn<Item>({ data, requests, domains }: Page<Item>): readonly Item[] {
  return data ?? requests ?? domains ?? [];
}

function saysItsNext({ cursor }: Query, page: Page<unknown>): boolean {
  return cursor !== undefined || nextCursorOf(page) !== undefined || page.hasMore !== undefined;
}

function after(query: Query, page: Page<unknown>): Query | undefined {
  return page.hasMore === undefined ? afterCursor(query, page) : afterOffset(query, page);
}

/** Pages of the feed may be short, or empty, while there is more. */
function afterEvent(query: Query, { pagination }: Page<unknown>): Query | undefined {
  if (!pagination?.hasMore || pagination.nextCursor === undefined) return undefined;
  return { ...query, from: undefined, after: pagination.nextCursor };
}

/** Of figures, which have no places of their own. */
function afterOffset(query: Query, page: Page<unknown>): Query | undefined {
  const { length } = itemsIn(page);
  return page.hasMore && length > 0 ? { ...query, offset: Number(query.offset ?? 0) + length } : undefined;
}

function afterCursor(query: Query, page: Page<unknown>): Query | undefined {
  const nextCursor = nextCursorOf(page);
  if (page.pagination?.hasMore === false || nextCursor === undefined) return undefined;
  return { ...query, page: undefined, offset: undefined, cursor: nextCursor };
}

/**
 * A walk by numbers of pages, or by offsets, through lists of an older service, some of which have no cursors. Entries move up when earlier ones are deleted: as many as the total has lost are read
 * again, and those that the caller has had are left out. One that is added at the end meanwhile makes up for a deleted one, whose
 * successor is then left out.
 */
class Places {
  /** Undefined at the end. */
  next: Query | undefined;
  private readonly seen = new Set<unknown>();
  private readonly isByOffset: boolean;
  private readonly limit: number;
  private start: number;
  private total: number;

  constructor(query: Query, page: Page<unknown>, length: number) {
    this.next = query;
    this.isByOffset = page.requests !== undefined || page.pagination?.offset !== undefined;
    this.limit = Math.max(1, Number(query.limit ?? page.pagination?.limit ?? length));
    this.start = this.isByOffset ? Number(query.offset ?? 0) : (Number(query.page ?? 1) - 1) * this.limit;
    this.total = totalOf(page);
  }

  *take<Item>(items: readonly Item[], page: Page<Item>): Generator<Item, void, undefined> {
    const lost = this.total - totalOf(page);
    this.total = totalOf(page);
    if (lost > 0) return this.goTo(Math.max(0, this.start - lost));
    for (const item of items) if (this.isNew(item)) yield item;
    const end = this.start + items.length;
    if (items.length > 0 && end < this.total) this.goTo(end);
    else this.next = undefined;
  }

  private isNew(item: unknown): boolean {
    const { id, requestId } = item as { id?: unknown; requestId?: unknown };
    const name = id ?? requestId;
    if (this.seen.has(name)) return false;
    this.seen.add(name);
    if (this.seen.size > MAX_REMEMBERED) this.seen.delete(this.seen.values().next().value);
    return true;
  }

  private goTo(place: number): void {
    const page = Math.floor(place / this.limit);
    this.start = this.isByOffset ? place : page * this.limit;
    this.next = { ...this.next, ...(this.isByOffset ? { offset: place } : { page: page + 1 }) };
  }
}
