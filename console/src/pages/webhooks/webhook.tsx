import { useQuery } from '@tanstack/react-query';
import { useParams } from 'wouter';
import { get, isMissing } from '../../api/client';
import { useMay } from '../../api/session';
import type { Data, Webhook } from '../../api/types';
import { idFact } from '../../parts/message';
import { Card, Facts, Page } from '../../parts/page';
import { LoadedPage, Requires } from '../../parts/states';
import { Moment } from '../../parts/text';
import { DeliveryList } from './deliveries';
import { Manage } from './manage-webhook';
import { StateBadge } from './webhooks';

const UP = { to: '/webhooks', name: 'Webhooks' };

const REASONS: Readonly<Record<string, string>> = {
  request: 'Your organization disabled it.',
  gone: 'It returned 410: the address is gone permanently.',
  failing: 'It returned only failures for five days.',
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
  const query = useQuery({
    queryKey: ['webhook', id],
    queryFn: () => get<Data<Webhook>>(`/v1/webhooks/${encodeURIComponent(id)}`),
    refetchInterval: ({ state }) => !isMissing(state.error) && 10_000,
  });
  return (
    <LoadedPage query={query} title="Webhook" up={UP}>
      {({ data }) => <Shown webhook={data} />}
    </LoadedPage>
  );
}

function Shown({ webhook }: { webhook: Webhook }) {
  const may = useMay();
  return (
    <Page
      title={webhook.url}
      up={UP}
      badge={<StateBadge webhook={webhook} />}
      lead={webhook.description}
      actions={may('webhook:manage') && <Manage webhook={webhook} />}
    >
      {!webhook.enabled && (
        <div className="notice bad">
          <div>
            <strong>Nothing is sent to it.</strong>
            <p>
              {REASONS[webhook.disabledReason ?? ''] ?? ''} Once enabled again, it receives events from then on; a
              replay sends those it missed.
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
            idFact(webhook.id),
          ]}
        />
      </Card>
    </Page>
  );
}
