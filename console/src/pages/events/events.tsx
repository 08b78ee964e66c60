import { useEffect, useState } from 'react';
import { Link } from 'wouter';
import type { FeedEvent } from '../../api/types';
import { Button } from '../../parts/button';
import { LISTENED_TYPES } from '../../parts/event-types';
import { SelectField } from '../../parts/field';
import { useFilters } from '../../parts/filters';
import { count, words } from '../../parts/format';
import { type Column, More, Table } from '../../parts/list';
import { Card, Page } from '../../parts/page';
import { PageLink } from '../../parts/rights';
import { Empty, Loaded, Loading, Requires } from '../../parts/states';
import { Badge, Foreign, Time } from '../../parts/text';
import { toneOf } from '../../parts/tones';
import { MAX_SHOWN, useFeed } from './feed';

/** With fewer of the wanted type it looks further back by itself, so many pages at most. */
const ENOUGH = 20;
const MOST_PAGES = 20;

const LAST = `These are among the newest ${count(MAX_SHOWN)} events. The API has all of them.`;

const TYPES = [{ value: '', label: 'All' }, ...LISTENED_TYPES.map((value) => ({ value, label: words(value) }))];

export default function Events() {
  return (
    <Requires scope="email:read">
      <Page title="Events" lead="The events of all emails as they happen, newest first, as in GET /v1/events.">
        <FeedCard />
      </Page>
    </Requires>
  );
}

function FeedCard() {
  const [{ type: wanted }, filter] = useFilters(['type']);
  // An address may hold anything.
  const type = LISTENED_TYPES.includes(wanted) ? wanted : '';
  const [isLive, setLive] = useState(true);
  const { query, events, canReadBack } = useFeed(isLive);
  const { data, isError, isFetching, fetchNextPage } = query;
  const shown = events.filter((event) => type === '' || bare(event.type) === type);
  // A page holds nothing where all of its events are of domains that the key is not bound to.
  const isTooFew = shown.length < (type === '' ? 1 : ENOUGH) && (data?.pages.length ?? 0) < MOST_PAGES;
  const wantsMore = isTooFew && canReadBack && !isError && !isFetching;
  useEffect(() => {
    if (wantsMore) void fetchNextPage();
  }, [wantsMore, fetchNextPage]);
  return (
    <Card
      flush
      title={!isLive ? 'Paused' : isError ? 'Interrupted' : 'Live'}
      actions={
        <>
          <SelectField
            label="Type"
            value={type}
            options={TYPES}
            onChange={({ target }) => filter({ type: target.value })}
          />
          <Button onClick={() => setLive(!isLive)}>{isLive ? 'Pause' : 'Resume'}</Button>
        </>
      }
    >
      <Loaded query={query}>
        {() => (
          <>
            {shown.length === 0 && (wantsMore || query.isFetchingNextPage) ? (
              <Loading />
            ) : shown.length === 0 ? (
              <None type={type} lookedAt={events.length} />
            ) : (
              <Table
                caption="Events, newest first"
                columns={COLUMNS}
                rows={shown}
                keyOf={({ data }) => String(data.eventId)}
              />
            )}
            <More
              query={{ hasNextPage: canReadBack, isFetchingNextPage: query.isFetchingNextPage, fetchNextPage }}
              end={events.length === MAX_SHOWN ? LAST : undefined}
            />
          </>
        )}
      </Loaded>
    </Card>
  );
}

function None({ type, lookedAt }: { type: string; lookedAt: number }) {
  if (type === '' || lookedAt === 0) {
    return (
      <Empty icon="events" title="No events yet">
        New events appear here automatically.
      </Empty>
    );
  }
  return (
    <Empty icon="search" title={`No “${words(type)}” among the newest ${count(lookedAt)} events`}>
      New ones appear here automatically.
    </Empty>
  );
}

/** Without what all events of emails begin with. */
const bare = (type: string) => type.replace(/^email\./, '');

/** The reply, or else what the service says of it. */
const saidOf = ({ response, url, explanation }: FeedEvent['data']): string =>
  textOf(response) || textOf(url) || textOf(explanation);

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

const COLUMNS: readonly Column<FeedEvent>[] = [
  {
    name: 'Event',
    cell: ({ type }) => <Badge status={type} tone={toneOf(bare(type))} label={words(bare(type))} />,
  },
  { name: 'Recipient', look: 'wide break', cell: ({ data }) => <Foreign>{textOf(data.recipient)}</Foreign> },
  {
    name: 'Details',
    look: 'wide break soft',
    isBare: true,
    cell: ({ data }) => <Foreign>{saidOf(data)}</Foreign>,
  },
  { name: 'When', look: 'soft', cell: ({ timestamp }) => <Time at={timestamp} /> },
  { name: 'Email', isHidden: true, cell: ({ data }) => <Origin data={data} /> },
];

function Origin({ data: { emailId, inboundEmailId, recipient } }: Pick<FeedEvent, 'data'>) {
  if (typeof inboundEmailId === 'string') {
    return (
      <PageLink scope="inbound:read" to={`/inbound/${inboundEmailId}`} otherwise={null}>
        Open<span className="visually-hidden"> the received mail</span>
      </PageLink>
    );
  }
  if (typeof emailId !== 'string') return null;
  return (
    <Link href={`/emails/${emailId}`}>
      Open<span className="visually-hidden"> the email to {textOf(recipient) || 'nobody'}</span>
    </Link>
  );
}
