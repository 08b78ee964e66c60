import {
  focusManager,
  type InfiniteData,
  keepPreviousData,
  useInfiniteQuery,
  useQueryClient,
} from '@tanstack/react-query';
import { useEffect, useMemo, useState } from 'react';
import { get } from '../../api/client';
import { waitAfter } from '../../api/query-client';
import type { FeedEvent } from '../../api/types';
import { now } from '../../api/service-clock';

/** A request: newer events are read oldest first, from where the page has got to; older ones newest first. */
interface Turn {
  readonly order: 'asc' | 'desc';
  readonly after: string | undefined;
}

/** Where a visit begins. */
const NEWEST: Turn = { order: 'desc', after: undefined };

interface Answer {
  readonly data: readonly FeedEvent[];
  readonly pagination: { readonly hasMore: boolean; readonly nextCursor: string };
}

/** An answer, with its newest event first. */
interface Piece extends Answer {
  readonly order: Turn['order'];
}

const LIVE_MS = 3_000;
/** When nothing happens. */
const QUIET_MS = 10_000;
/** The oldest make room: more would make the page slow, and programs read the feed itself. */
export const MAX_SHOWN = 1_000;
/** So many pages behind, nothing of what is shown would stay. */
const BEHIND = 10;

async function read({ order, after }: Turn, signal: AbortSignal): Promise<Piece> {
  const { data, pagination } = await get<Answer>('/v1/events', { order, after }, signal);
  return { order, pagination, data: order === 'asc' ? data.toReversed() : data };
}

const idOf = (event: FeedEvent | undefined): string | undefined => event && String(event.data.eventId);

function newerThan({ order, data, pagination }: Piece): Turn {
  return { order: 'asc', after: order === 'asc' ? pagination.nextCursor : (idOf(data[0]) ?? pagination.nextCursor) };
}

function olderThan({ order, data, pagination }: Piece): Turn | undefined {
  if (order === 'asc') return { order: 'desc', after: idOf(data.at(-1)) };
  return pagination.hasMore ? { order: 'desc', after: pagination.nextCursor } : undefined;
}

/** Without what is not shown any more, and without answers that had nothing new but the last. */
function pruned({ pages, pageParams }: InfiniteData<Piece>): InfiniteData<Piece> {
  let before = 0;
  const kept = pages.map(({ order, data }, index) => {
    const isShown = before < MAX_SHOWN;
    before += data.length;
    return index === 0 || (isShown && (order === 'desc' || data.length > 0));
  });
  const only = <Item>(items: readonly Item[]) => items.filter((_, index) => kept[index]);
  return { pages: only(pages), pageParams: only(pageParams) };
}

function isFarBehind({ pages }: InfiniteData<Piece>): boolean {
  const newest = pages.slice(0, BEHIND);
  return newest.length === BEHIND && newest.every(({ order, pagination }) => order === 'asc' && pagination.hasMore);
}

/** The events of all emails, the newest first: what happens from now on by itself, and what happened before on request. */
export function useFeed(isLive: boolean) {
  // Of this visit: what was read at the one before may be hours behind.
  const [begun, setBegun] = useState(now);
  const client = useQueryClient();
  const query = useInfiniteQuery({
    queryKey: ['feed', begun],
    queryFn: ({ pageParam, signal }) => read(pageParam, signal),
    initialPageParam: NEWEST,
    getPreviousPageParam: newerThan,
    getNextPageParam: olderThan,
    placeholderData: keepPreviousData,
    staleTime: Infinity,
    gcTime: 0,
  });
  const { data, error, fetchPreviousPage, isError, isFetching, isPlaceholderData } = query;
  useEffect(() => {
    if (!data || isPlaceholderData) return;
    const kept = pruned(data);
    if (kept.pages.length < data.pages.length) client.setQueryData(['feed', begun], kept);
  }, [client, data, begun, isPlaceholderData]);
  const [first] = data?.pages ?? [];
  useEffect(() => {
    if (!isLive || isFetching || !data || !first) return undefined;
    const readOn = () => {
      // Nobody sees a hidden page: it reads on when it is returned to.
      if (!focusManager.isFocused()) return;
      if (isFarBehind(data)) setBegun(now());
      else void fetchPreviousPage();
    };
    const hasMore = first.order === 'asc' && first.pagination.hasMore;
    const last = data.pages.find((page) => page.data.length > 0)?.data[0];
    const quietMs = Math.min(QUIET_MS, Math.max(LIVE_MS, last ? now() - Date.parse(last.timestamp) : QUIET_MS));
    // After an error too: a refusal comes at once.
    const timer = setTimeout(readOn, isError ? waitAfter(error, QUIET_MS, 1) : hasMore ? 0 : quietMs);
    const unsubscribe = focusManager.subscribe(readOn);
    return () => {
      clearTimeout(timer);
      unsubscribe();
    };
  }, [isLive, isError, error, isFetching, data, first, fetchPreviousPage]);
  const events = useMemo(() => data?.pages.flatMap((page) => page.data).slice(0, MAX_SHOWN) ?? [], [data]);
  return { query, events, canReadBack: query.hasNextPage && events.length < MAX_SHOWN };
}
