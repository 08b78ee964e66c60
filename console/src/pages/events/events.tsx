import { focusManager, type InfiniteData, useInfiniteQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect, useMemo, useState } from 'react';
import { Link } from 'wouter';
import { get } from '../../api/client';
import { waitAfter } from '../../api/query-client';
import type { FeedEvent } from '../../api/types';
import { Button } from '../../parts/button';
import { bound, Segmented, SelectField } from '../../parts/field';
import { count, words } from '../../parts/format';
import { type Column, Table } from '../../parts/list';
import { Card, Page } from '../../parts/page';
import { Empty, Loaded, Requires } from '../../parts/states';
import { Badge, Time } from '../../parts/text';
import { toneOf } from '../../parts/tones';

interface Feed {
  readonly data: readonly FeedEvent[];
  readonly pagination: { readonly hasMore: boolean; readonly nextCursor?: string };
}

const SPANS = [
  { value: '900', label: '15 minutes' },
  { value: '3600', label: '1 hour' },
  { value: '86400', label: '24 hours' },
];
const LIVE_MS = 3_000;
/** When nothing happens. */
const QUIET_MS = 10_000;
/** The oldest make room: more would make the page slow, and programs read the feed itself. */
const MAX_SHOWN = 1_000;

/** Without the pages that are not shown, and those of times in which nothing happened. */
function newestOf({ pages, pageParams }: InfiniteData<Feed>): InfiniteData<Feed> {
  let count = 0;
  const kept = [pages.length - 1];
  for (let index = pages.length - 1; index >= 0 && count < MAX_SHOWN; index -= 1) {
    const length = pages[index]?.data.length ?? 0;
    count += length;
    if (length > 0 && index < pages.length - 1) kept.unshift(index);
  }
  return {
    pages: pages.filter((_, index) => kept.includes(index)),
    pageParams: pageParams.filter((_, index) => kept.includes(index)),
  };
}

export default function Events() {
  const [span, setSpan] = useState('3600');
  return (
    <Requires scope="email:read">
      <Page
        title="Events"
        lead="What happens to all emails, as it happens: the same feed as GET /v1/events."
        actions={<Segmented label="Since" value={span} options={SPANS} onChange={setSpan} />}
      >
        <FeedCard key={span} seconds={Number(span)} />
      </Page>
    </Requires>
  );
}

function FeedCard({ seconds }: { seconds: number }) {
  const [from] = useState(() => new Date(Date.now() - seconds * 1_000).toISOString());
  const [type, setType] = useState('');
  const [isLive, setLive] = useState(true);
  const client = useQueryClient();
  const query = useInfiniteQuery({
    queryKey: ['feed', from],
    queryFn: ({ pageParam, signal }) => get<Feed>('/v1/events', pageParam ? { after: pageParam } : { from }, signal),
    initialPageParam: '',
    getNextPageParam: ({ pagination }) => pagination.nextCursor,
    staleTime: Infinity,
  });
  const { data, error, fetchNextPage, isError, isFetching, hasNextPage } = query;
  useEffect(() => {
    const kept = data && newestOf(data);
    if (kept && kept.pages.length < data.pages.length) client.setQueryData(['feed', from], kept);
  }, [client, data, from]);
  const all = useMemo(() => data?.pages.flatMap((page) => page.data).slice(-MAX_SHOWN) ?? [], [data]);
  const hasMore = data?.pages.at(-1)?.pagination.hasMore === true;
  useEffect(() => {
    if (!isLive || isFetching || !hasNextPage) return undefined;
    const readOn = () => {
      // Nobody sees a hidden page: it reads on when it is returned to.
      if (focusManager.isFocused()) void fetchNextPage();
    };
    const last = data?.pages.findLast((page) => page.data.length > 0)?.data.at(-1);
    const quietMs = Math.min(QUIET_MS, Math.max(LIVE_MS, last ? Date.now() - Date.parse(last.timestamp) : QUIET_MS));
    // After an error too: a refusal comes at once.
    const timer = setTimeout(readOn, isError ? waitAfter(error, QUIET_MS, 1) : hasMore ? 0 : quietMs);
    const unsubscribe = focusManager.subscribe(readOn);
    return () => {
      clearTimeout(timer);
      unsubscribe();
    };
  }, [isLive, isError, error, isFetching, hasNextPage, hasMore, fetchNextPage, data]);
  const types = [...new Set(all.map((event) => event.type))].sort();
  const shown = all.filter((event) => type === '' || event.type === type).toReversed();
  return (
    <Card
      flush
      title={!isLive ? 'Paused' : isError ? 'Interrupted' : hasMore ? 'Catching up, the oldest first' : 'Live'}
      actions={
        <>
          <SelectField
            label="Type"
            {...bound(type, setType)}
            options={[{ value: '', label: 'All' }, ...types.map((value) => ({ value, label: nameOf(value) }))]}
          />
          <Button onClick={() => setLive(!isLive)} aria-pressed={!isLive}>
            {isLive ? 'Pause' : 'Resume'}
          </Button>
        </>
      }
    >
      <Loaded query={query}>
        {() =>
          shown.length === 0 ? (
            <Empty icon="events" title="Nothing has happened in this time">
              It shows by itself what happens from now on.
            </Empty>
          ) : (
            <>
              {all.length === MAX_SHOWN && !hasMore && (
                <p className="keys-hint">
                  These are of the newest {count(MAX_SHOWN)} events. Programs read all of them.
                </p>
              )}
              <Table
                caption="Events, newest first"
                columns={COLUMNS}
                rows={shown}
                keyOf={({ data }) => String(data.eventId)}
              />
            </>
          )
        }
      </Loaded>
    </Card>
  );
}

const nameOf = (type: string) => words(type.replace(/^email\./, ''));

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

const COLUMNS: readonly Column<FeedEvent>[] = [
  {
    name: 'Event',
    cell: ({ type }) => <Badge status={type} tone={toneOf(type.replace(/^email\./, ''))} label={nameOf(type)} />,
  },
  { name: 'Recipient', look: 'wide break', cell: ({ data }) => <bdi>{textOf(data.recipient)}</bdi> },
  {
    name: 'What was said',
    look: 'wide break soft',
    isBare: true,
    cell: ({ data }) => <bdi>{textOf(data.response) || textOf(data.url)}</bdi>,
  },
  { name: 'When', look: 'soft', cell: ({ timestamp }) => <Time at={timestamp} /> },
  {
    name: 'Email',
    isHidden: true,
    cell: ({ data }) =>
      typeof data.emailId === 'string' && (
        <Link href={`/emails/${data.emailId}`}>
          Open<span className="visually-hidden"> the email to {textOf(data.recipient) || 'nobody'}</span>
        </Link>
      ),
  },
];
