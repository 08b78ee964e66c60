import { useInfiniteQuery } from '@tanstack/react-query';
import { Link } from 'wouter';
import { get } from '../../api/client';
import { forPages } from '../../api/query-client';
import type { OpenDelivery } from '../../api/types';
import { type Column, ListCard, More } from '../../parts/list';
import { OrganizationName } from '../../parts/organization-name';
import { Badge, Foreign, Time } from '../../parts/text';

interface Deliveries {
  readonly data: readonly OpenDelivery[];
  readonly nextCursor?: string;
}

/** The queue's page with these filters alone. */
const only = (filters: Readonly<Record<string, string>>): string => `/queue?${new URLSearchParams(filters).toString()}`;

const DELIVERY_COLUMNS: readonly Column<OpenDelivery>[] = [
  {
    name: 'Recipient',
    look: 'wide break',
    cell: ({ recipient, emailId, organizationId, mode }) => (
      <>
        <Link href={only({ organization: organizationId, email: emailId, recipient })}>
          <Foreign>{recipient}</Foreign>
        </Link>
        <div className="hint">
          of{' '}
          <Link href={only({ organization: organizationId })}>
            <OrganizationName id={organizationId} />
          </Link>
          {mode === 'test' && ', test mail'}
        </div>
        <div className="hint">
          email{' '}
          <Link href={only({ organization: organizationId, email: emailId })}>
            <code>{emailId}</code>
          </Link>
        </div>
      </>
    ),
  },
  { name: 'State', isBare: true, cell: ({ state }) => <Badge status={state} /> },
  {
    name: 'Why it waits',
    look: 'wide break soft',
    isBare: true,
    cell: ({ waiting }) => <Foreign>{waiting.detail}</Foreign>,
  },
  { name: 'Attempts', look: 'number', cell: ({ attempts }) => attempts },
  { name: 'Due', look: 'soft', cell: ({ dueAt }) => <Time at={dueAt} /> },
  { name: 'Expires', look: 'soft', cell: ({ endsAt }) => <Time at={endsAt} /> },
];

/** What is open, with whose it is, why it waits, and when it ends without more being done. */
export function DeliveryList({
  filters: { organization, destination, email, recipient, state },
}: {
  filters: Readonly<Record<'organization' | 'destination' | 'email' | 'recipient' | 'state', string>>;
}) {
  const filter = { organization_id: organization, destination, email_id: email, recipient, state };
  const isFiltered = Object.values(filter).some((value) => value !== '');
  const query = useInfiniteQuery({
    queryKey: ['open-deliveries', filter],
    queryFn: ({ pageParam, signal }) =>
      get<Deliveries>('/operator/v1/queue/deliveries', { ...filter, limit: 50, cursor: pageParam }, signal),
    initialPageParam: '',
    getNextPageParam: (page) => page.nextCursor,
    refetchInterval: ({ state: { data } }) => forPages(5_000, data),
  });
  return (
    <ListCard
      title="Deliveries"
      query={query}
      rowsOf={({ pages }) => pages.flatMap((page) => page.data)}
      keyOf={({ emailId, recipient }) => `${emailId} ${recipient}`}
      caption="Open deliveries"
      columns={DELIVERY_COLUMNS}
      empty={{
        icon: 'queue',
        title: isFiltered ? 'No matching deliveries' : 'No open deliveries',
      }}
      pager={() => <More query={query} />}
    />
  );
}
