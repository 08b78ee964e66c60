import {
  type DefaultError,
  type DefaultedQueryObserverOptions,
  type Query,
  QueryCache,
  QueryClient,
  type QueryKey,
  type QueryObserverOptions,
} from '@tanstack/react-query';
import { ApiError } from './client';

const MOST_TRIES = 3;
const FIRST_RETRY_MS = 300;
/** Between requests that fail: an outage is not made longer by those who wait for its end, and its end is seen soon. */
const LONGEST_MS = 30_000;

/** Whether to request again at once. @param failures how often it has failed before this one */
export function isWorthRetrying(failures: number, error: unknown): boolean {
  if (failures >= MOST_TRIES - 1) return false;
  // A refusal stays the same, and who says when to come again means it.
  const isFinal = error instanceof ApiError && error.status >= 400 && error.status < 500;
  return !isFinal && !(error instanceof ApiError && error.retryAfterSeconds !== undefined);
}

/** Between requests of what is not shown at all yet. */
const FIRST_WAIT_MS = 2_000;

/** Whether the same request may succeed a little later. */
const isPassing = (error: unknown): boolean =>
  !(error instanceof ApiError) || error.status === 0 || error.status === 429 || error.status >= 500;

/** How long to wait after an error. @param usualMs where there is none @param failures in a row */
export function waitAfter(error: unknown, usualMs: number, failures: number): number {
  if (error instanceof ApiError && error.retryAfterSeconds !== undefined) {
    return Math.max(usualMs, error.retryAfterSeconds * 1_000);
  }
  return Math.max(usualMs, Math.min(LONGEST_MS, usualMs * 2 ** Math.max(0, failures - 1)));
}

/** When data was first seen as it is. */
const since = new WeakMap<object, number>();

/**
 * The interval of what seldom changes: it grows while there is no change, as long again as there has been none. A request of a console
 * counts against the limits of its key, and a page may be open all day.
 */
export function slowing(firstMs: number, longestMs: number) {
  return ({ state: { data, dataUpdatedAt } }: { state: { data: unknown; dataUpdatedAt: number } }): number => {
    // Equal data is the same object: TanStack Query keeps it.
    if (typeof data !== 'object' || data === null) return firstMs;
    const first = since.get(data) ?? dataUpdatedAt;
    since.set(data, first);
    return Math.min(longestMs, Math.max(firstMs, dataUpdatedAt - first));
  };
}

/** Of lists that few people change: a page that is open for long must not show old rows as the present. */
export const SELDOM = slowing(10_000, 60_000);

/**
 * The interval of a list of which more is shown on request. All its pages are loaded again, one after another: however many there are, in
 * the same time it takes as many requests as one of them.
 */
export const forPages = (ms: number, data: { readonly pages: readonly unknown[] } | undefined): number =>
  ms * Math.max(1, data?.pages.length ?? 0);

/** Loads what pages show, and loads it again: more seldom while that fails. */
class Client extends QueryClient {
  constructor(private readonly failures: WeakMap<object, number>) {
    super({
      queryCache: new QueryCache({
        onError: (_error, query) => failures.set(query, (failures.get(query) ?? 0) + 1),
        onSuccess: (_data, query) => failures.delete(query),
      }),
      defaultOptions: {
        queries: {
          retry: isWorthRetrying,
          // The user sees the error soon, and can try again.
          retryDelay: (failures) => FIRST_RETRY_MS * 2 ** failures,
          staleTime: 2_000,
          // A request without a network fails, and the page says so; else it would wait, and old data look like the present.
          networkMode: 'always',
          refetchOnReconnect: true,
        },
        mutations: { networkMode: 'always' },
      },
    });
  }

  /**
   * Here and not in each page: every interval is that of a page, until the service is away or says when to come again; and what could
   * not be loaded at all is loaded once it can be.
   */
  override defaultQueryOptions<
    Fetched = unknown,
    Failed = DefaultError,
    Shown = Fetched,
    Kept = Fetched,
    Key extends QueryKey = QueryKey,
    Param = never,
  >(
    options:
      | QueryObserverOptions<Fetched, Failed, Shown, Kept, Key, Param>
      | DefaultedQueryObserverOptions<Fetched, Failed, Shown, Kept, Key>,
  ): DefaultedQueryObserverOptions<Fetched, Failed, Shown, Kept, Key> {
    const isDone = options._defaulted === true;
    const defaulted = super.defaultQueryOptions<Fetched, Failed, Shown, Kept, Key, Param>(options);
    const usual = defaulted.refetchInterval;
    if (isDone) return defaulted;
    defaulted.refetchInterval = (query: Query<Fetched, Failed, Kept, Key>) => {
      const { data, error } = query.state;
      // Where there is nothing to see, the page comes as soon as it can, whether it is kept up to date or not.
      if (data === undefined && error !== null && isPassing(error)) {
        return waitAfter(error, FIRST_WAIT_MS, this.failures.get(query) ?? 0);
      }
      const wanted = typeof usual === 'function' ? usual(query) : usual;
      if (wanted === undefined) return false;
      if (typeof wanted !== 'number' || error === null) return wanted;
      return waitAfter(error, wanted, this.failures.get(query) ?? 0);
    };
    return defaulted;
  }
}

export const createQueryClient = (): QueryClient => new Client(new WeakMap());
