import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { get } from '../../api/client';
import { useMay } from '../../api/session';
import type { Data, QueueFilter, QueueShare } from '../../api/types';
import { Button, ButtonLink } from '../../parts/button';
import { anyOf, Segmented } from '../../parts/field';
import { useFilters } from '../../parts/filters';
import { count, span, words } from '../../parts/format';
import { type Filter, FilterBar } from '../../parts/filter-bar';
import { type Column, ListCard } from '../../parts/list';
import { OrganizationName } from '../../parts/organization-name';
import { Page } from '../../parts/page';
import { Requires } from '../../parts/states';
import { Foreign } from '../../parts/text';
import { ActionDialog, type ActionName } from './action-dialog';
import { DeliveryList } from './delivery-list';

const GROUPS = [
  { value: 'organization', label: 'Organizations' },
  { value: 'destination', label: 'Destinations' },
  { value: 'state', label: 'States' },
];
const STATES = ['ready', 'waiting', 'claimed', 'held'];
const NAMES = ['by', 'organization', 'destination', 'email', 'recipient', 'state'] as const;

/** In the order of their use; all that are given have to apply. */
const filtersWith = (organization: string): readonly Filter<Exclude<(typeof NAMES)[number], 'by'>>[] => [
  { name: 'destination', label: "Destination (recipients' domain)" },
  {
    name: 'organization',
    label: 'Organization (id)',
    hint: organization && <OrganizationName id={organization} />,
  },
  { name: 'email', label: 'Email (id)' },
  { name: 'recipient', label: 'Recipient' },
  { name: 'state', label: 'State', options: anyOf(STATES) },
];
const ACTIONS: readonly (readonly [name: ActionName, label: string])[] = [
  ['retry_now', 'Retry now'],
  ['hold', 'Hold'],
  ['release', 'Release'],
  ['fail', 'Fail'],
];

export default function Queue() {
  return (
    <Requires scope="operator:read">
      <QueuePage />
    </Requires>
  );
}

function QueuePage() {
  const may = useMay();
  const [filters, change] = useFilters(NAMES);
  const [action, setAction] = useState<ActionName>();
  const by = filters.by || 'organization';
  const filter: QueueFilter = {
    ...(filters.organization && { organizationId: filters.organization }),
    ...(filters.destination && { destination: filters.destination }),
    ...(filters.email && { emailId: filters.email }),
    ...(filters.recipient && { recipient: filters.recipient }),
  };
  const isChosen = Object.keys(filter).length > 0;
  return (
    <Page
      title="Queue"
      lead="Accepted mail that is not delivered or failed yet. Filter it, then choose an action."
      actions={<Segmented label="By" value={by} options={GROUPS} onChange={(value) => change({ by: value })} />}
    >
      <Shares
        by={by}
        choose={(key) =>
          change(
            by === 'organization'
              ? { organization: key }
              : by === 'destination'
                ? { destination: key }
                : { state: key },
          )
        }
      />
      <FilterBar label="Deliveries" filters={filtersWith(filters.organization)} values={filters} change={change} />
      {may('operator:manage') && (
        <div className="row">
          {ACTIONS.map(([name, label]) => (
            <Button
              key={name}
              kind={name === 'fail' ? 'danger' : ''}
              disabled={!isChosen}
              onClick={() => setAction(name)}
            >
              {label}
            </Button>
          ))}
          {filters.destination && (
            <ButtonLink to={`/destinations?q=${encodeURIComponent(filters.destination)}`}>Its servers</ButtonLink>
          )}
          <span className="hint">
            {isChosen
              ? 'for all deliveries that the filter matches, whatever their state'
              : 'Filter by an organization, a destination, an email or a recipient first.'}
          </span>
        </div>
      )}
      <DeliveryList filters={filters} />
      {action && <ActionDialog action={action} filter={filter} onClose={() => setAction(undefined)} />}
    </Page>
  );
}

const GROUP_NAMES: Readonly<Record<string, string>> = { organization: 'Organization', destination: 'Destination' };
const SHARES = ['ready', 'waiting', 'claimed', 'held'] as const;
const SHARE_NAMES = { ready: 'Ready', waiting: 'Waiting', claimed: 'Being sent', held: 'Held' };

function Shares({ by, choose }: { by: string; choose: (key: string) => void }) {
  const query = useQuery({
    queryKey: ['queue', by],
    queryFn: () => get<Data<QueueShare[]>>('/operator/v1/queue', { by, limit: 50 }),
    placeholderData: keepPreviousData,
    refetchInterval: 4_000,
  });
  const columns: readonly Column<QueueShare>[] = [
    {
      name: GROUP_NAMES[by] ?? 'State',
      look: 'wide break',
      cell: ({ key, name }) => (
        <Button kind="quiet" small onClick={() => choose(key)}>
          <Foreign>{name ?? (by === 'state' ? words(key) : key)}</Foreign>
        </Button>
      ),
    },
    ...SHARES.map((state) => ({
      name: SHARE_NAMES[state],
      look: 'number',
      cell: (share: QueueShare) => count(share[state]),
    })),
    { name: 'Oldest', look: 'number', cell: ({ oldestSeconds }) => (oldestSeconds > 0 ? span(oldestSeconds) : '–') },
  ];
  return (
    <ListCard
      query={query}
      rowsOf={({ data }) => data}
      keyOf={({ key }) => key}
      caption={`The queue by ${by}`}
      columns={columns}
      empty={{ icon: 'queue', title: 'The queue is empty', text: 'All mail has been processed.' }}
    />
  );
}
