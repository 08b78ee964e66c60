import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { Link } from 'wouter';
import { get } from '../../api/client';
import { useMay } from '../../api/session';
import type { Data, Webhook } from '../../api/types';
import { Button } from '../../parts/button';
import { type Column, ListCard } from '../../parts/list';
import { Page } from '../../parts/page';
import { Requires } from '../../parts/states';
import { Badge, Foreign, Time } from '../../parts/text';
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

export function StateBadge({ webhook }: { webhook: Webhook }) {
  const state = stateOf(webhook);
  return <Badge status={state} tone={TONES[state]} />;
}

const TONES = { enabled: 'good', failing: 'warn', disabled: 'bad' } as const;

const COLUMNS: readonly Column<Webhook>[] = [
  {
    name: 'Address',
    look: 'break',
    cell: ({ id, url, description }) => (
      <>
        <Link href={`/webhooks/${id}`}>
          <Foreign>{url}</Foreign>
        </Link>
        {description && (
          <div className="hint">
            <Foreign>{description}</Foreign>
          </div>
        )}
      </>
    ),
  },
  { name: 'State', isBare: true, cell: (webhook) => <StateBadge webhook={webhook} /> },
  {
    name: 'Events',
    look: 'wide soft',
    cell: ({ events }) => (events.includes('*') ? 'all' : events.join(', ')),
  },
  {
    name: 'Last success',
    look: 'soft',
    cell: ({ lastSuccessAt }) => (lastSuccessAt ? <Time at={lastSuccessAt} /> : 'none yet'),
  },
];

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
      lead="Your programs receive the events of emails: signed, at least once, and repeated for three days if they do not respond."
      actions={add}
    >
      <ListCard
        query={query}
        rowsOf={({ data }) => data}
        keyOf={({ id }) => id}
        caption="Webhooks"
        columns={COLUMNS}
        empty={{
          icon: 'webhooks',
          title: 'No webhooks yet',
          text: 'Add the URL of a program that should learn of deliveries, bounces and clicks.',
          action: add,
        }}
      />
      {adds && <WebhookDialog onClose={() => setAdds(false)} />}
    </Page>
  );
}
