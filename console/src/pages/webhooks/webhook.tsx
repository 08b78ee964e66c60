import { useInfiniteQuery, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { Link, useLocation, useParams } from 'wouter';
import { del, get, patch, post } from '../../api/client';
import { useMay } from '../../api/session';
import type { Data, Webhook, WebhookDelivery } from '../../api/types';
import { Button } from '../../parts/button';
import { Confirm } from '../../parts/dialog';
import { Segmented } from '../../parts/field';
import { words } from '../../parts/format';
import { Card, Facts, Page } from '../../parts/page';
import { Empty, InlineError, Loaded, Requires } from '../../parts/states';
import { Badge, Moment, Time } from '../../parts/text';
import { useToast } from '../../parts/toast';
import { SecretDialog, WebhookDialog } from './webhook-dialog';
import { stateOf } from './webhooks';

interface Deliveries {
  readonly data: readonly WebhookDelivery[];
  readonly pagination: { readonly hasMore: boolean; readonly nextCursor?: string };
}

const REASONS: Readonly<Record<string, string>> = {
  request: 'Switched off by one of you.',
  gone: 'It answered 410: the address is gone for good.',
  failing: 'It answered with nothing but failures for five days.',
};

export default function WebhookScreen() {
  const { id = '' } = useParams();
  return (
    <Requires scope="webhook:read">
      <WebhookPage key={id} id={id} />
    </Requires>
  );
}

function WebhookPage({ id }: { id: string }) {
  const may = useMay();
  const query = useQuery({
    queryKey: ['webhook', id],
    queryFn: () => get<Data<Webhook>>(`/v1/webhooks/${encodeURIComponent(id)}`),
    refetchInterval: 10_000,
  });
  const webhook = query.data?.data;
  const up = { to: '/webhooks', name: 'Webhooks' };
  if (!webhook) {
    return (
      <Page title="Webhook" up={up}>
        <Card>
          <Loaded query={query}>{() => null}</Loaded>
        </Card>
      </Page>
    );
  }
  const state = stateOf(webhook);
  return (
    <Page
      title={webhook.url}
      up={up}
      badge={<Badge status={state} tone={{ enabled: 'good', failing: 'warn', disabled: 'bad' }[state] as 'good'} />}
      lead={webhook.description}
      actions={may('webhook:manage') && <Manage webhook={webhook} />}
    >
      {!webhook.enabled && (
        <div className="notice bad">
          <div>
            <strong>Nothing is sent to it.</strong>
            <p>
              {REASONS[webhook.disabledReason ?? ''] ?? ''} Enabled again, it hears of what happens from then on; a
              replay sends what it has missed.
            </p>
          </div>
        </div>
      )}
      <DeliveryList webhook={webhook} />
      <Card title="Details">
        <Facts
          facts={[
            ['Events', webhook.events.includes('*') ? 'all' : webhook.events.join(', ')],
            ['Failing since', webhook.failingSince && <Moment at={webhook.failingSince} />],
            ['Last success', webhook.lastSuccessAt && <Moment at={webhook.lastSuccessAt} />],
            ['Added', <Moment key="added" at={webhook.createdAt} />],
            ['Id', <code key="id">{webhook.id}</code>],
          ]}
        />
      </Card>
    </Page>
  );
}

type Asked = 'change' | 'rotate' | 'remove' | 'replay';

function Manage({ webhook }: { webhook: Webhook }) {
  const client = useQueryClient();
  const [, navigate] = useLocation();
  const toast = useToast();
  const [asks, setAsks] = useState<Asked>();
  const [secret, setSecret] = useState<string>();
  const [error, setError] = useState<unknown>();
  const path = `/v1/webhooks/${webhook.id}`;
  const close = () => setAsks(undefined);
  const refresh = () =>
    Promise.all([['webhook'], ['webhooks'], ['deliveries']].map((queryKey) => client.invalidateQueries({ queryKey })));
  const act = async (work: () => Promise<unknown>, said: string) => {
    setError(undefined);
    try {
      await work();
      toast(said);
      await refresh();
    } catch (failed) {
      setError(failed);
    }
  };
  const toggle = () =>
    act(
      () => patch(path, { enabled: !webhook.enabled }),
      webhook.enabled ? 'Nothing is sent to it any more' : 'It hears of what happens from now on',
    );
  return (
    <>
      <Button
        kind="primary"
        icon="send"
        disabled={!webhook.enabled}
        onClick={() => act(() => post(`${path}/test`), 'A test event is on its way')}
      >
        Send a test
      </Button>
      <Button onClick={() => setAsks('change')}>Change</Button>
      <Button onClick={() => void toggle()}>{webhook.enabled ? 'Disable' : 'Enable'}</Button>
      <Button disabled={!webhook.enabled} onClick={() => setAsks('replay')}>
        Replay
      </Button>
      <Button onClick={() => setAsks('rotate')}>Rotate secret</Button>
      <Button kind="danger" onClick={() => setAsks('remove')}>
        Remove
      </Button>
      <InlineError error={error} />
      {asks === 'change' && <WebhookDialog webhook={webhook} onClose={close} />}
      {asks === 'replay' && (
        <Confirm
          title="Replay the last 24 hours?"
          action="Replay"
          onClose={close}
          onConfirm={async () => {
            await post(`${path}/replay`, { from: new Date(Date.now() - 86_400_000).toISOString() });
            toast('The replay has begun');
            await refresh();
          }}
        >
          <p>
            Every event of the last 24 hours that it listens to is sent to it again, under the same ids: receivers that
            look at the id notice. It cannot be stopped.
          </p>
        </Confirm>
      )}
      {asks === 'rotate' && (
        <Confirm
          title="Rotate the secret?"
          action="Rotate"
          onClose={close}
          onConfirm={async () => setSecret((await post<Data<{ secret: string }>>(`${path}/rotate-secret`)).data.secret)}
        >
          <p>
            A new secret is made. For 24 hours everything is signed with both, so that the receiver can be changed
            without a gap.
          </p>
        </Confirm>
      )}
      {asks === 'remove' && (
        <Confirm
          title="Remove this webhook?"
          action="Remove the webhook"
          onClose={close}
          onConfirm={async () => {
            await del(path);
            await client.invalidateQueries({ queryKey: ['webhooks'] });
            navigate('/webhooks');
            toast('The webhook is removed');
          }}
        >
          <p>
            <bdi className="break">{webhook.url}</bdi> is told nothing any more, and its deliveries are deleted. There
            is no way back.
          </p>
        </Confirm>
      )}
      {secret !== undefined && (
        <SecretDialog secret={secret} title="The new secret" onClose={() => setSecret(undefined)} />
      )}
    </>
  );
}

const STATES = [
  { value: '', label: 'All' },
  { value: 'failed', label: 'Failed' },
  { value: 'pending', label: 'Pending' },
  { value: 'delivered', label: 'Delivered' },
];

function DeliveryList({ webhook }: { webhook: Webhook }) {
  const [state, setState] = useState('');
  const query = useInfiniteQuery({
    queryKey: ['deliveries', webhook.id, state],
    queryFn: ({ pageParam, signal }) =>
      get<Deliveries>(`/v1/webhooks/${webhook.id}/deliveries`, { state, limit: 50, cursor: pageParam }, signal),
    initialPageParam: '',
    getNextPageParam: ({ pagination }) => (pagination.hasMore ? pagination.nextCursor : undefined),
    refetchInterval: ({ state: { data } }) => ((data?.pages.length ?? 0) > 1 ? false : 4_000),
  });
  const deliveries = query.data?.pages.flatMap((page) => page.data) ?? [];
  return (
    <Card
      flush
      title="Deliveries"
      actions={<Segmented label="State" value={state} options={STATES} onChange={setState} />}
    >
      <Loaded query={query}>
        {() =>
          deliveries.length === 0 ? (
            <Empty icon="webhooks" title={state ? `Nothing is ${state}` : 'Nothing was sent yet'}>
              Send a test, and see here what it answers.
            </Empty>
          ) : (
            <>
              <DeliveryTable webhook={webhook} deliveries={deliveries} />
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

function DeliveryTable({ webhook, deliveries }: { webhook: Webhook; deliveries: readonly WebhookDelivery[] }) {
  const may = useMay();
  return (
    <div className="table-wrap">
      <table className="stacking">
        <caption className="visually-hidden">Deliveries, newest first</caption>
        <thead>
          <tr>
            <th scope="col">Event</th>
            <th scope="col">State</th>
            <th scope="col">Answer</th>
            <th scope="col" className="number">
              Attempts
            </th>
            <th scope="col">When</th>
            <th scope="col">
              <span className="visually-hidden">Actions</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {deliveries.map((delivery) => (
            <tr key={delivery.id}>
              <td>
                {delivery.emailId ? (
                  <Link href={`/emails/${delivery.emailId}`}>{words(delivery.eventType)}</Link>
                ) : (
                  words(delivery.eventType)
                )}
              </td>
              <td>
                <Badge status={delivery.state} />
              </td>
              <td className="wide break" data-label="Answer">
                {delivery.lastStatus !== undefined && <code>{delivery.lastStatus}</code>}{' '}
                <bdi className="soft">{delivery.lastError ?? ''}</bdi>
              </td>
              <td className="number" data-label="Attempts">
                {delivery.attempts}
              </td>
              <td className="soft">
                <Time at={delivery.lastAttemptAt ?? delivery.createdAt} />
                {delivery.nextAttemptAt && delivery.state === 'pending' && (
                  <span className="hint">
                    {' '}
                    · next <Time at={delivery.nextAttemptAt} />
                  </span>
                )}
              </td>
              <td>{may('webhook:manage') && <Redeliver webhook={webhook} delivery={delivery} />}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Redeliver({ webhook, delivery }: { webhook: Webhook; delivery: WebhookDelivery }) {
  const client = useQueryClient();
  const toast = useToast();
  const [busy, setBusy] = useState(false);
  const again = async () => {
    setBusy(true);
    try {
      await post(`/v1/webhooks/${webhook.id}/deliveries/${delivery.id}/redeliver`);
      toast('It is sent again');
      await client.invalidateQueries({ queryKey: ['deliveries', webhook.id] });
    } catch (error) {
      toast(error instanceof Error ? error.message : 'It was not sent again');
    }
    setBusy(false);
  };
  return (
    <Button
      small
      busy={busy}
      disabled={!webhook.enabled}
      onClick={again}
      aria-label={`Send ${words(delivery.eventType)} again`}
    >
      Again
    </Button>
  );
}
