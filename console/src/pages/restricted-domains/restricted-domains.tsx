import { useInfiniteQuery } from '@tanstack/react-query';
import { Link } from 'wouter';
import { get } from '../../api/client';
import { forPages } from '../../api/query-client';
import type { RestrictedDomain } from '../../api/types';
import { CAUSES } from '../../parts/domains';
import { count } from '../../parts/format';
import { type Column, ListCard, More } from '../../parts/list';
import { OrganizationName } from '../../parts/organization-name';
import { Page } from '../../parts/page';
import { Requires } from '../../parts/states';
import { Badge, Foreign, Time } from '../../parts/text';

interface RestrictedDomains {
  readonly data: readonly RestrictedDomain[];
  readonly nextCursor?: string;
}

const FRESH_MS = 30_000;

const COLUMNS: readonly Column<RestrictedDomain>[] = [
  { name: 'Domain', look: 'wide break', cell: ({ domain }) => <Foreign>{domain}</Foreign> },
  {
    name: 'Organization',
    look: 'wide break',
    cell: ({ organizationId }) => (
      <Link href={`/organizations?q=${encodeURIComponent(organizationId)}`}>
        <OrganizationName id={organizationId} />
      </Link>
    ),
  },
  {
    name: 'Sending',
    isBare: true,
    cell: ({ status, dailyLimit }) => (
      <>
        <Badge status={status} />
        {dailyLimit !== undefined && <div className="hint">{count(dailyLimit)} a day</div>}
      </>
    ),
  },
  {
    name: 'Why',
    look: 'wide break soft',
    cell: ({ reason, note }) => (
      <>
        {CAUSES[reason ?? ''] ?? 'the cause is not known'}
        {note !== undefined && (
          <>
            : <Foreign>{note}</Foreign>
          </>
        )}
      </>
    ),
  },
  { name: 'Since', look: 'soft', cell: ({ since }) => since && <Time at={since} /> },
  {
    name: 'History',
    isHidden: true,
    cell: ({ organizationId, id, domain }) => (
      <Link href={`/audit?organization=${organizationId}&target=${id}`} aria-label={`History of ${domain}`}>
        History
      </Link>
    ),
  },
];

export default function RestrictedDomainsScreen() {
  return (
    <Requires scope="operator:read">
      <RestrictedDomainsPage />
    </Requires>
  );
}

function RestrictedDomainsPage() {
  const query = useInfiniteQuery({
    queryKey: ['restricted-domains'],
    queryFn: ({ pageParam, signal }) =>
      get<RestrictedDomains>('/operator/v1/restricted-domains', { limit: 100, cursor: pageParam }, signal),
    initialPageParam: '',
    getNextPageParam: (page) => page.nextCursor,
    refetchInterval: ({ state: { data } }) => forPages(FRESH_MS, data),
  });
  return (
    <Page
      title="Restricted domains"
      lead="Paused and slowed domains of all organizations. Restrictions for bounces or complaints end automatically once the figures are good; pauses by an operator do not."
    >
      <ListCard
        query={query}
        rowsOf={({ pages }) => pages.flatMap((page) => page.data)}
        keyOf={({ id }) => id}
        caption="Restricted domains"
        columns={COLUMNS}
        empty={{ icon: 'domains', title: 'No domain is restricted', text: 'All verified domains may send.' }}
        pager={() => <More query={query} />}
      />
      <p className="hint">
        <code>waybill domain resume-sending ID</code> lets one send as before,{' '}
        <code>waybill domain pause-sending ID</code> pauses one.
      </p>
    </Page>
  );
}
