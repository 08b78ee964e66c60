import { useInfiniteQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { get } from '../../api/client';
import { forPages } from '../../api/query-client';
import type { Webhook, WebhookDelivery } from '../../api/types';
import { Button } from '../../parts/button';
import { Segmented } from '../../parts/field';
import { useFilters } from '../../parts/filters';
import { words } from '../../parts/format';
import { type Column, ListCard, More } from '../../parts/list';
import { PageLink } from '../../parts/rights';
import { Badge, Foreign, Time } from '../../parts/text';
import { DeliveryDialog, Redeliver } from './delivery-dialog';
import { isMoving } from './fresh';

interface Deliveries {
  readonly data: readonly WebhookDelivery[];
  readonly pagination: { readonly hasMore: boolean; readonly nextCursor?: string };
}

const STATES = [
  { value: '', label: 'All' },
  { value: 'failed', label: 'Failed' },
  { value: 'pending', label: 'Pending' },
  { value: 'delivered', label: 'Delivered' },
];

const COLUMNS: readonly Column<WebhookDelivery>[] = [
  {
    name: 'Event',
    cell: ({ emailId, eventType }) =>
      emailId ? (
        <PageLink scope="email:read" to={`/emails/${emailId}`}>
          {words(eventType)}
        </PageLink>
      ) : (
        words(eventType)
      ),
  },
  { name: 'State', isBare: true, cell: ({ state }) => <Badge status={state} /> },
  {
    name: 'Answer',
    look: 'wide break',
    cell: ({ lastStatus, lastError }) => (
      <>
        {lastStatus !== undefined && !lastError?.includes(String(lastStatus)) && <code>{lastStatus}</code>}{' '}
        <Foreign className="soft">{lastError ?? ''}</Foreign>
      </>
    ),
  },
  { name: 'Attempts', look: 'number', cell: ({ attempts }) => attempts },
  {
    name: 'When',
    look: 'soft',
    cell: ({ lastAttemptAt, createdAt, nextAttemptAt, state }) => (
      <>
        <Time at={lastAttemptAt ?? createdAt} />
        {nextAttemptAt && state === 'pending' && (
          <span className="hint">
            {' '}
            · next <Time at={nextAttemptAt} />
          </span>
        )}
      </>
    ),
  },
];

/** The messages to a webhook, and its responses. */
export function DeliveryList({ webhook }: { webhook: Webhook }) {
  const [{ state, delivery: shown }, change] = useFilters(['state', 'delivery']);
  const [eventType, setEventType] = useState('');
  const query = useInfiniteQuery({
    queryKey: ['deliveries', webhook.id, state],
    queryFn: ({ pageParam, signal }) =>
      get<Deliveries>(`/v1/webhooks/${webhook.id}/deliveries`, { state, limit: 50, cursor: pageParam }, signal),
    initialPageParam: '',
    getNextPageParam: ({ pagination }) => (pagination.hasMore ? pagination.nextCursor : undefined),
    refetchInterval: ({ state: { data } }) =>
      forPages(data?.pages.some((page) => page.data.some(isMoving)) ? 1_000 : 4_000, data),
  });
  // What is looked at and closed again is no step of its own.
  const turn = (id: string) => change({ delivery: id }, { replace: true });
  const look = ({ id, eventType: type }: WebhookDelivery) => {
    setEventType(type);
    turn(id);
  };
  const actions: Column<WebhookDelivery> = {
    name: 'Actions',
    isHidden: true,
    cell: (delivery) => (
      <span className="row">
        <Button small onClick={() => look(delivery)}>
          Look<span className="visually-hidden"> at the request and answer of {words(delivery.eventType)}</span>
        </Button>
        <Redeliver webhook={webhook} delivery={delivery} />
      </span>
    ),
  };
  return (
    <>
      <ListCard
        title="Deliveries"
        actions={
          <Segmented label="State" value={state} options={STATES} onChange={(value) => change({ state: value })} />
        }
        query={query}
        rowsOf={({ pages }) => pages.flatMap((page) => page.data)}
        keyOf={({ id }) => id}
        caption="Deliveries, newest first"
        columns={[...COLUMNS, actions]}
        empty={{
          icon: 'webhooks',
          title: state ? `Nothing is ${state}` : 'Nothing has been sent yet',
          text: 'Send a test to see the response here.',
        }}
        pager={() => <More query={query} />}
      />
      {shown !== '' && (
        <DeliveryDialog
          webhook={webhook}
          id={shown}
          title={eventType === '' ? 'Delivery' : words(eventType)}
          onClose={() => turn('')}
        />
      )}
    </>
  );
}
