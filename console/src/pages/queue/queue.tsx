import { keepPreviousData, useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { get } from '../../api/client';
import { useMay } from '../../api/session';
import type { Data, OpenDelivery, QueueFilter, QueueShare } from '../../api/types';
import { Button } from '../../parts/button';
import { Segmented, SelectField, TextField } from '../../parts/field';
import { useFilters } from '../../parts/filters';
import { count, span } from '../../parts/format';
import { Card, Page } from '../../parts/page';
import { Empty, Loaded, Requires } from '../../parts/states';
import { Badge, Time } from '../../parts/text';
import { ActionDialog, type ActionName } from './action-dialog';

interface Deliveries {
  readonly data: readonly OpenDelivery[];
  readonly nextCursor?: string;
}

const GROUPS = [
  { value: 'organization', label: 'Organizations' },
  { value: 'destination', label: 'Destinations' },
  { value: 'state', label: 'States' },
];
const STATES = ['ready', 'waiting', 'claimed', 'held'];
const NAMES = ['by', 'organization', 'destination', 'state'] as const;
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
  };
  const isChosen = Object.keys(filter).length > 0;
  return (
    <Page
      title="Queue"
      lead="What has been accepted and not come to its end. Choose whose, then what shall become of it."
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
      <div className="filters" role="group" aria-label="Whose deliveries">
        <TextField
          key={`d${filters.destination}`}
          label="Destination (recipients' domain)"
          defaultValue={filters.destination}
          onBlur={(event) => change({ destination: event.target.value.trim() })}
        />
        <TextField
          key={`o${filters.organization}`}
          label="Organization (id)"
          defaultValue={filters.organization}
          onBlur={(event) => change({ organization: event.target.value.trim() })}
        />
        <SelectField
          label="State"
          value={filters.state}
          options={[{ value: '', label: 'Any' }, ...STATES.map((value) => ({ value, label: value }))]}
          onChange={({ target }) => change({ state: target.value })}
        />
      </div>
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
          <span className="hint">
            {isChosen
              ? 'for everything of the chosen organization and destination, whatever its state'
              : 'Choose an organization or a destination first.'}
          </span>
        </div>
      )}
      <DeliveryList filters={filters} />
      {action && <ActionDialog action={action} filter={filter} onClose={() => setAction(undefined)} />}
    </Page>
  );
}

function Shares({ by, choose }: { by: string; choose: (key: string) => void }) {
  const query = useQuery({
    queryKey: ['queue', by],
    queryFn: () => get<Data<QueueShare[]>>('/operator/v1/queue', { by, limit: 50 }),
    placeholderData: keepPreviousData,
    refetchInterval: 4_000,
  });
  return (
    <Card flush>
      <Loaded query={query}>
        {({ data }) =>
          data.length === 0 ? (
            <Empty icon="queue" title="The queue is empty">
              All mail has come to its end.
            </Empty>
          ) : (
            <div className="table-wrap">
              <table className="stacking">
                <caption className="visually-hidden">The queue by {by}</caption>
                <thead>
                  <tr>
                    <th scope="col">
                      {by === 'organization' ? 'Organization' : by === 'destination' ? 'Destination' : 'State'}
                    </th>
                    {['Ready', 'Waiting', 'Being sent', 'Held', 'Oldest'].map((name) => (
                      <th key={name} scope="col" className="number">
                        {name}
                      </th>
                    ))}
                  </tr>
                </thead>
                <tbody>
                  {data.map((share) => (
                    <tr key={share.key}>
                      <td className="wide break">
                        <Button kind="quiet" small onClick={() => choose(share.key)}>
                          <bdi>{share.name ?? share.key}</bdi>
                        </Button>
                      </td>
                      {(['ready', 'waiting', 'claimed', 'held'] as const).map((state) => (
                        <td key={state} className="number" data-label={state}>
                          {count(share[state])}
                        </td>
                      ))}
                      <td className="number" data-label="Oldest">
                        {span(share.oldestSeconds)}
                      </td>
                    </tr>
                  ))}
                </tbody>
              </table>
            </div>
          )
        }
      </Loaded>
    </Card>
  );
}

function DeliveryList({
  filters: { organization, destination, state },
}: {
  filters: Record<(typeof NAMES)[number], string>;
}) {
  const query = useInfiniteQuery({
    queryKey: ['open-deliveries', organization, destination, state],
    queryFn: ({ pageParam, signal }) =>
      get<Deliveries>(
        '/operator/v1/queue/deliveries',
        { organization_id: organization, destination, state, limit: 50, cursor: pageParam },
        signal,
      ),
    initialPageParam: '',
    getNextPageParam: (page) => page.nextCursor,
    refetchInterval: ({ state: { data } }) => ((data?.pages.length ?? 0) > 1 ? false : 5_000),
  });
  const deliveries = query.data?.pages.flatMap((page) => page.data) ?? [];
  return (
    <Card flush title="Deliveries">
      <Loaded query={query}>
        {() =>
          deliveries.length === 0 ? (
            <Empty icon="queue" title="No delivery is like that" />
          ) : (
            <>
              <div className="table-wrap">
                <table className="stacking">
                  <caption className="visually-hidden">Open deliveries</caption>
                  <thead>
                    <tr>
                      <th scope="col">Recipient</th>
                      <th scope="col">State</th>
                      <th scope="col">Why it waits</th>
                      <th scope="col" className="number">
                        Attempts
                      </th>
                      <th scope="col">Due</th>
                    </tr>
                  </thead>
                  <tbody>
                    {deliveries.map((delivery) => (
                      <tr key={`${delivery.emailId} ${delivery.recipient}`}>
                        <td className="wide break">
                          <bdi>{delivery.recipient}</bdi>
                          <div className="hint">
                            <code>{delivery.emailId}</code>
                          </div>
                        </td>
                        <td>
                          <Badge status={delivery.state} />
                        </td>
                        <td className="wide break soft">
                          <bdi>{delivery.waiting.detail}</bdi>
                        </td>
                        <td className="number" data-label="Attempts">
                          {delivery.attempts}
                        </td>
                        <td className="soft" data-label="Due">
                          <Time at={delivery.dueAt} />
                        </td>
                      </tr>
                    ))}
                  </tbody>
                </table>
              </div>
              {query.hasNextPage && (
                <div className="pager">
                  <Button small busy={query.isFetchingNextPage} onClick={() => void query.fetchNextPage()}>
                    Show more
                  </Button>
                </div>
              )}
            </>
          )
        }
      </Loaded>
    </Card>
  );
}
