import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { Link } from 'wouter';
import { get } from '../../api/client';
import type { Destination, Pagination } from '../../api/types';
import { adviceFor, DESTINATION_TONES } from '../../parts/destination-words';
import { anyOf } from '../../parts/field';
import { useFilters } from '../../parts/filters';
import { count } from '../../parts/format';
import { type Filter, FilterBar } from '../../parts/filter-bar';
import { type Column, ListCard, PagesPager } from '../../parts/list';
import { Page } from '../../parts/page';
import { Requires } from '../../parts/states';
import { Badge, Foreign, Time } from '../../parts/text';
import { useOpenOf } from './open-mail';

interface DestinationList {
  readonly data: readonly Destination[];
  readonly pagination: Pagination;
}

const LIMIT = 50;
const FILTERS: readonly Filter<'q' | 'state'>[] = [
  { name: 'q', label: 'Host or domain', placeholder: 'example.com' },
  { name: 'state', label: 'State', options: anyOf(['paused', 'probing', 'slowed', 'open']) },
];

const columnsWith = (openOf: (destination: Destination) => string): readonly Column<Destination>[] => [
  {
    name: 'Mail exchanger',
    look: 'wide break',
    cell: ({ key, domains }) => (
      <>
        <Link href={`/destinations/${encodeURIComponent(key)}`}>
          <Foreign>{key}</Foreign>
        </Link>
        {domains.length > 0 && (
          <div className="hint">
            for <Foreign>{domains.slice(0, 3).join(', ')}</Foreign>
            {domains.length > 3 && ` and ${domains.length - 3} more`}
          </div>
        )}
      </>
    ),
  },
  { name: 'State', isBare: true, cell: ({ state }) => <Badge status={state} tone={DESTINATION_TONES[state]} /> },
  {
    name: 'Why',
    look: 'wide break soft',
    cell: (destination) => (
      <>
        {destination.state !== 'open' && <Foreign>{adviceFor(destination).why}</Foreign>}
        {destination.until && (
          <div>
            Until <Time at={destination.until} />
          </div>
        )}
      </>
    ),
  },
  { name: 'In the queue', look: 'number', cell: openOf },
  {
    name: 'Connections',
    look: 'number',
    cell: ({ active, maxConnections }) =>
      maxConnections === undefined ? count(active) : `${count(active)} of ${count(maxConnections)}`,
  },
  { name: 'Delivered', look: 'number', cell: ({ lastHour }) => count(lastHour.delivered) },
  { name: 'Deferred', look: 'number', cell: ({ lastHour }) => count(lastHour.deferred) },
  { name: 'Bounced', look: 'number', cell: ({ lastHour }) => count(lastHour.bounced) },
];

export default function Destinations() {
  return (
    <Requires scope="operator:read">
      <DestinationsPage />
    </Requires>
  );
}

function DestinationsPage() {
  const [{ q, state, page }, change] = useFilters(['q', 'state', 'page']);
  const at = Math.max(1, Number(page) || 1);
  const turn = (to: number) => change({ page: String(to) });
  const query = useQuery({
    queryKey: ['destinations', q, state, at],
    queryFn: () => get<DestinationList>('/operator/v1/destinations', { q, state, page: at, limit: LIMIT }),
    placeholderData: keepPreviousData,
    refetchInterval: 5_000,
  });
  const openOf = useOpenOf();
  const isFiltered = q !== '' || state !== '';
  return (
    <Page
      title="Destinations"
      lead="Where mail goes. Domains with the same mail exchangers form one destination. Results are those of the last hour."
    >
      <FilterBar filters={FILTERS} values={{ q, state }} change={change} />
      <ListCard
        query={query}
        rowsOf={({ data }) => data}
        keyOf={({ key }) => key}
        caption="Destinations, busiest first"
        columns={columnsWith(openOf)}
        empty={{
          icon: 'destinations',
          title: isFiltered ? 'No matching destinations' : 'Nothing was sent in the last hour',
          text: isFiltered
            ? 'Destinations without mail in the last hour are listed only if they have a rule.'
            : 'Destinations appear here with their first attempt.',
        }}
        pager={({ pagination }) => <PagesPager page={at} pagination={pagination} what="destination" turn={turn} />}
      />
    </Page>
  );
}
