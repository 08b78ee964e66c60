import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { Link } from 'wouter';
import { get } from '../../api/client';
import { useMay } from '../../api/session';
import type { Data, Webhook } from '../../api/types';
import { Button } from '../../parts/button';
import { Card, Page } from '../../parts/page';
import { Empty, Loaded, Requires } from '../../parts/states';
import { Badge, Time } from '../../parts/text';
import { WebhookDialog } from './webhook-dialog';

export default function Webhooks() {
  return (
    <Requires scope="webhook:read">
      <WebhooksPage />
    </Requires>
  );
}

/** In one word, for a list. */
export function stateOf({ enabled, failingSince }: Webhook): 'enabled' | 'failing' | 'disabled' {
  if (!enabled) return 'disabled';
  return failingSince ? 'failing' : 'enabled';
}

function WebhooksPage() {
  const may = useMay();
  const [adds, setAdds] = useState(false);
  const query = useQuery({
    queryKey: ['webhooks'],
    queryFn: () => get<Data<Webhook[]>>('/v1/webhooks'),
    refetchInterval: 15_000,
  });
  const add = may('webhook:manage') && (
    <Button kind="primary" icon="plus" onClick={() => setAdds(true)}>
      Add a webhook
    </Button>
  );
  return (
    <Page
      title="Webhooks"
      lead="Your programs are told what happens to emails: signed, at least once, and again for a day where they do not answer."
      actions={add}
    >
      <Card flush>
        <Loaded query={query}>
          {({ data }) =>
            data.length === 0 ? (
              <Empty icon="webhooks" title="Nobody is told yet" action={add}>
                Add the address of a program that wants to know of deliveries, bounces and clicks.
              </Empty>
            ) : (
              <Table webhooks={data} />
            )
          }
        </Loaded>
      </Card>
      {adds && <WebhookDialog onClose={() => setAdds(false)} />}
    </Page>
  );
}

function Table({ webhooks }: { webhooks: readonly Webhook[] }) {
  return (
    <div className="table-wrap">
      <table className="stacking">
        <caption className="visually-hidden">Webhooks</caption>
        <thead>
          <tr>
            <th scope="col">Address</th>
            <th scope="col">State</th>
            <th scope="col">Events</th>
            <th scope="col">Last success</th>
          </tr>
        </thead>
        <tbody>
          {webhooks.map((webhook) => (
            <tr key={webhook.id}>
              <td className="break">
                <Link href={`/webhooks/${webhook.id}`}>
                  <bdi>{webhook.url}</bdi>
                </Link>
                {webhook.description && (
                  <div className="hint">
                    <bdi>{webhook.description}</bdi>
                  </div>
                )}
              </td>
              <td>
                <Badge
                  status={stateOf(webhook)}
                  tone={{ enabled: 'good', failing: 'warn', disabled: 'bad' }[stateOf(webhook)] as 'good'}
                />
              </td>
              <td className="wide soft" data-label="Events">
                {webhook.events.includes('*') ? 'all' : webhook.events.join(', ')}
              </td>
              <td className="soft" data-label="Last success">
                {webhook.lastSuccessAt ? <Time at={webhook.lastSuccessAt} /> : 'none yet'}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
