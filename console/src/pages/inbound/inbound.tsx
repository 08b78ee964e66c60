import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { Link } from 'wouter';
import { get } from '../../api/client';
import type { InboundListItem, Pagination } from '../../api/types';
import { useFilters } from '../../parts/filters';
import { words } from '../../parts/format';
import { type Column, FilterText, ListCard, PagesPager } from '../../parts/list';
import { Page } from '../../parts/page';
import { Requires } from '../../parts/states';
import { Foreign, Time } from '../../parts/text';
import { Routes } from './routes';

interface InboundList {
  readonly data: readonly InboundListItem[];
  readonly pagination: Pagination;
}

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
  { name: 'Came', look: 'soft', cell: ({ receivedAt }) => <Time at={receivedAt} /> },
];

export default function Inbound() {
  return (
    <Requires scope="inbound:read">
      <InboundPage />
    </Requires>
  );
}

function titleOf(list: InboundList | undefined, isFiltered: boolean): string {
  if (list?.pagination.partial) return 'None of the newest 50,000 mails is like that';
  return isFiltered ? 'No mail is like that' : 'Nothing has come yet';
}

function InboundPage() {
  const [{ to, from, page: shown }, filter] = useFilters(['to', 'from', 'page']);
  const page = Math.max(1, Number(shown) || 1);
  const turn = (next: number) => filter({ page: next === 1 ? '' : String(next) });
  const query = useQuery({
    queryKey: ['inbound', to, from, page],
    queryFn: () => get<InboundList>('/v1/inbound-emails', { page, limit: LIMIT, to, from }),
    placeholderData: keepPreviousData,
    refetchInterval: page === 1 ? LIVE_MS : false,
  });
  return (
    <Page
      title="Inbound mail"
      lead="Mail to addresses of your domains that a route takes: stored, shown, and sent to webhooks."
    >
      <Routes />
      <div className="filters" role="search">
        <FilterText
          label="To"
          value={to}
          placeholder="support@in.example.com"
          onChange={(value) => filter({ to: value, page: '' })}
        />
        <FilterText
          label="From"
          value={from}
          placeholder="ada@example.com"
          hint="The author's whole address, or the envelope's"
          onChange={(value) => filter({ from: value, page: '' })}
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
          title: titleOf(query.data, to !== '' || from !== ''),
          text: 'Mail to a route stands here as soon as it has been taken.',
        }}
        pager={({ pagination }) => <PagesPager page={page} pagination={pagination} what="email" turn={turn} />}
      />
    </Page>
  );
}
