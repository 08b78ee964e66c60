import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { get } from '../../api/client';
import type { Data, ProviderStats, StatsByProvider } from '../../api/types';
import { count, percent, words } from '../../parts/format';
import { type Column, ListCard } from '../../parts/list';
import { FRESH } from '../../parts/stats';
import type { Period } from '../../parts/status-range';
import { Foreign } from '../../parts/text';

const COLUMNS: readonly Column<ProviderStats>[] = [
  {
    name: 'Receiver',
    look: 'break',
    cell: ({ provider }) => <Foreign>{provider === 'other' ? 'All others' : words(provider)}</Foreign>,
  },
  { name: 'Taken', look: 'number', cell: ({ accepted }) => count(accepted) },
  { name: 'Delivered', look: 'number', cell: ({ delivered }) => count(delivered) },
  { name: 'Put off', look: 'number', cell: ({ deferred, deferralRate }) => withRate(deferred, deferralRate) },
  { name: 'Bounced', look: 'number', cell: ({ bounced, bounceRate }) => withRate(bounced, bounceRate) },
  { name: 'Complaints', look: 'number', cell: ({ complaints, complaintRate }) => withRate(complaints, complaintRate) },
];

const withRate = (value: number, rate: number) => (
  <>
    {count(value)} <span className="soft">({percent(rate)})</span>
  </>
);

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
      caption="Mail by the group of receivers"
      query={query}
      rowsOf={({ data }) => data.providers}
      keyOf={({ provider }) => provider}
      columns={COLUMNS}
      lines={3}
      empty={{ icon: 'statistics', title: 'No receiver has answered in this time' }}
    />
  );
}
