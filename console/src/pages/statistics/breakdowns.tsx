import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { get } from '../../api/client';
import type { Data, ProviderStats, StatsByDomain, StatsByProvider } from '../../api/types';
import { count, shareOf, words } from '../../parts/format';
import { type Column, ListCard } from '../../parts/list';
import { FRESH, useDomainStats } from '../../parts/stats';
import type { Period } from '../../parts/status-range';
import { Foreign } from '../../parts/text';

type DomainStats = StatsByDomain['domains'][number];

const withRate = (value: number, rate: number, whole: number) => (
  <>
    {count(value)} <span className="soft nowrap">({shareOf(rate, whole)})</span>
  </>
);

const OF_DOMAINS: readonly Column<DomainStats>[] = [
  { name: 'Domain', look: 'break', cell: ({ domain }) => <Foreign>{domain}</Foreign> },
  { name: 'Accepted', look: 'number', cell: ({ total }) => count(total) },
  { name: 'Delivered', look: 'number', cell: (row) => withRate(row.delivered, row.deliveryRate, row.total) },
  { name: 'Bounced', look: 'number', cell: (row) => withRate(row.bounced, row.bounceRate, row.total) },
  { name: 'Opened', look: 'number', cell: ({ opens }) => count(opens) },
  { name: 'Clicked', look: 'number', cell: ({ clicks }) => count(clicks) },
];

/** The outcomes of mail from each domain. */
export function ByDomain({ period }: { period: Period }) {
  const query = useDomainStats(period);
  return (
    <ListCard
      title="By domain"
      caption="Figures by domain"
      query={query}
      rowsOf={({ data }) => data.domains}
      keyOf={({ domain }) => domain}
      columns={OF_DOMAINS}
      lines={3}
      empty={{ icon: 'domains', title: 'No domain has sent in this period' }}
    />
  );
}

const OF_PROVIDERS: readonly Column<ProviderStats>[] = [
  {
    name: 'Receiver',
    look: 'break',
    cell: ({ provider }) => <Foreign>{provider === 'other' ? 'All others' : words(provider)}</Foreign>,
  },
  { name: 'Accepted', look: 'number', cell: ({ accepted }) => count(accepted) },
  { name: 'Delivered', look: 'number', cell: ({ delivered }) => count(delivered) },
  {
    name: 'Deferred',
    look: 'number',
    cell: ({ deferred, deferralRate, accepted, bounced }) =>
      withRate(deferred, deferralRate, deferred + accepted + bounced),
  },
  {
    name: 'Bounced',
    look: 'number',
    cell: ({ bounced, bounceRate, accepted }) => withRate(bounced, bounceRate, accepted + bounced),
  },
  {
    name: 'Complaints',
    look: 'number',
    cell: ({ complaints, complaintRate, delivered }) => withRate(complaints, complaintRate, delivered),
  },
];

/** The outcomes of mail at each large receiver: one may defer mail that others accept. */
export function ByProvider({ period: { from, to }, domain }: { period: Period; domain: string }) {
  const query = useQuery({
    queryKey: ['provider-stats', from, to, domain],
    queryFn: () =>
      get<Data<StatsByProvider>>('/v1/stats/providers', { start_date: from, end_date: to, domain_id: domain }),
    placeholderData: keepPreviousData,
    refetchInterval: FRESH,
  });
  return (
    <ListCard
      title="By receiver"
      caption="Mail by receiver"
      query={query}
      rowsOf={({ data }) => data.providers}
      keyOf={({ provider }) => provider}
      columns={OF_PROVIDERS}
      lines={3}
      empty={{ icon: 'statistics', title: 'No receiver has replied in this period' }}
    />
  );
}
