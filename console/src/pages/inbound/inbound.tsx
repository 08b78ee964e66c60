import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { Link } from 'wouter';
import { get } from '../../api/client';
import type { InboundListItem, Pagination } from '../../api/types';
import { useFilters } from '../../parts/filters';
import { words } from '../../parts/format';
import { FilterText } from '../../parts/filter-bar';
import { type Column, ListCard, PagesPager } from '../../parts/list';
import { NoneYet, OlderPager, olderThan, readOlder } from '../../parts/older';
import { Page } from '../../parts/page';
import { Requires } from '../../parts/states';
import { Foreign, Time } from '../../parts/text';
import { Routes } from './routes';

interface InboundList {
  readonly data: readonly InboundListItem[];
  readonly pagination: Pagination;
}

const PATH = '/v1/inbound-emails';
const LIMIT = 50;
const LIVE_MS = 10_000;

const COLUMNS: readonly Column<InboundListItem>[] = [
  {
    name: 'From',
    look: 'wide',
    cell: ({ from, envelope }) => (
      <span className="cut">
        <Foreign>{from || envelope.from || 'no sender'}</Foreign>
      </span>
    ),
  },
  {
    name: 'Subject',
    look: 'wide',
    isBare: true,
    cell: ({ id, subject, marks }) => (
      <>
        <Link className="cut" href={`/inbound/${id}`}>
          <Foreign>{subject || '(no subject)'}</Foreign>
        </Link>
        {marks.length > 0 && <span className="hint cut">{marks.map(words).join(', ')}</span>}
      </>
    ),
  },
  {
    name: 'To',
    look: 'wide soft',
    cell: ({ envelope }) => (
      <span className="cut">
        <Foreign>{envelope.to.join(', ')}</Foreign>
      </span>
    ),
  },
  { name: 'Received', look: 'soft', cell: ({ receivedAt }) => <Time at={receivedAt} /> },
];

export default function Inbound() {
  return (
    <Requires scope="inbound:read">
      <InboundPage />
    </Requires>
  );
}

const MATCHED = 'Addresses must match in full.';

/** Where the list goes on behind its pages, which reach the newest 50,000; undefined where they hold all. */
function behind(list: InboundList, page: number): string | undefined {
  const { total, totalPages, nextCursor } = list.pagination;
  const isLast = page === totalPages && total > totalPages * LIMIT;
  return isLast ? nextCursor : olderThan(list);
}

function InboundPage() {
  const [{ to, from, page: shown, older }, filter] = useFilters(['to', 'from', 'page', 'older']);
  const page = Math.max(1, Number(shown) || 1);
  const turn = (next: number) => filter({ page: next === 1 ? '' : String(next) });
  const query = useQuery({
    queryKey: ['inbound', to, from, page, older],
    queryFn: ({ signal }) => {
      const wanted = { page, limit: LIMIT, to, from };
      return older === ''
        ? get<InboundList>(PATH, wanted, signal)
        : readOlder<InboundList>(PATH, { ...wanted, cursor: older }, signal);
    },
    placeholderData: keepPreviousData,
    refetchInterval: page === 1 && older === '' && LIVE_MS,
  });
  const search = (cursor: string) => filter({ older: cursor, page: '' });
  const isFiltered = to !== '' || from !== '';
  return (
    <Page
      title="Inbound mail"
      lead="Mail to addresses of your domains that have a route: stored, shown here, and sent to webhooks."
    >
      <Routes />
      <div className="filters" role="search">
        <FilterText
          label="To"
          value={to}
          placeholder="support@in.example.com"
          onChange={(value) => filter({ to: value, page: '', older: '' })}
        />
        <FilterText
          label="From"
          value={from}
          placeholder="ada@example.com"
          hint="The full address of the author, or of the envelope sender"
          onChange={(value) => filter({ from: value, page: '', older: '' })}
        />
      </div>
      <ListCard
        title="Mail"
        query={query}
        rowsOf={({ data }) => data}
        keyOf={({ id }) => id}
        caption="Inbound mail, newest first"
        columns={COLUMNS}
        empty={{
          icon: 'inbound',
          title: isFiltered ? 'No matching mail' : 'No inbound mail yet',
          text: isFiltered ? MATCHED : 'Mail to a route appears here as soon as it is accepted.',
        }}
        noneYet={(list) =>
          (older !== '' || (list.pagination.total === 0 && olderThan(list) !== undefined)) && (
            <NoneYet list={list} turn={search} isOlder={older !== ''} hint={MATCHED} />
          )
        }
        pager={(list) => {
          if (older !== '') return <OlderPager list={list} turn={search} />;
          const next = behind(list, page);
          const goOn = next === undefined ? undefined : () => search(next);
          return <PagesPager page={page} pagination={list.pagination} what="email" turn={turn} goOn={goOn} />;
        }}
      />
    </Page>
  );
}
