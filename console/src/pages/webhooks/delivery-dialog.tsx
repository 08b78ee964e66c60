import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { get, post } from '../../api/client';
import { useMay } from '../../api/session';
import type { Data, Webhook, WebhookDelivery, WebhookDeliveryDetail } from '../../api/types';
import { Button, CopyButton } from '../../parts/button';
import { useChange } from '../../parts/change';
import { Dialog } from '../../parts/dialog';
import { words } from '../../parts/format';
import { Facts } from '../../parts/page';
import { Loaded } from '../../parts/states';
import { Tabs } from '../../parts/tabs';
import { Badge, Foreign, Moment } from '../../parts/text';
import { useToast } from '../../parts/toast';
import { freshMs } from './fresh';

interface DialogProps {
  readonly webhook: Webhook;
  readonly id: string;
  readonly title: string;
  readonly onClose: () => void;
}

/** The request and the response. */
export function DeliveryDialog({ webhook, id, title, onClose }: DialogProps) {
  const query = useQuery({
    queryKey: ['deliveries', webhook.id, 'one', id],
    queryFn: () => get<Data<WebhookDeliveryDetail>>(`/v1/webhooks/${webhook.id}/deliveries/${encodeURIComponent(id)}`),
    refetchInterval: ({ state }) => freshMs(state.data?.data),
  });
  return (
    <Dialog title={title} onClose={onClose}>
      <Loaded query={query}>{({ data }) => <Exchange delivery={data} />}</Loaded>
      <div className="dialog-actions">
        {query.data && <Redeliver webhook={webhook} delivery={query.data.data} />}
        <Button kind="primary" onClick={onClose}>
          Close
        </Button>
      </div>
    </Dialog>
  );
}

function Exchange({ delivery }: { delivery: WebhookDeliveryDetail }) {
  const { answer, request, state, attempts, lastAttemptAt, lastError, nextAttemptAt, id } = delivery;
  return (
    <div className="stack">
      <Facts
        facts={[
          ['State', <Badge key="state" status={state} />],
          ['Attempts', String(attempts)],
          ['Last attempt', lastAttemptAt && <Moment at={lastAttemptAt} />],
          ['What went wrong', lastError && <Foreign>{lastError}</Foreign>],
          ['Next attempt', nextAttemptAt && <Moment at={nextAttemptAt} />],
          ['webhook-id', <code key="id">{id}</code>],
        ]}
      />
      <Tabs
        label="The exchange"
        tabs={[
          {
            name: 'Answer',
            content: answer ? <Answer answer={answer} /> : <p className="soft">There was no response.</p>,
          },
          { name: 'Request', content: <Request request={request} /> },
        ]}
      />
    </div>
  );
}

const headersOf = (headers: Record<string, string>) =>
  Object.entries(headers)
    .map(([name, value]) => `${name}: ${value}`)
    .join('\n');

function Answer({ answer }: { answer: NonNullable<WebhookDeliveryDetail['answer']> }) {
  const { status, headers, body, truncated, durationMs } = answer;
  return (
    <>
      <p>
        Status <code>{status}</code> after {durationMs} ms.
      </p>
      <pre className="code">{headersOf(headers)}</pre>
      <pre className="code" data-testid="answer">
        {body === '' ? '(empty)' : body}
      </pre>
      <p className="hint">
        {truncated && 'Only its beginning is stored. '}Cookies and challenges are left out, addresses in it are masked.
      </p>
    </>
  );
}

/** Indented for reading; text that is no JSON does not change. */
function indented(body: string): string {
  try {
    return JSON.stringify(JSON.parse(body), null, 2);
  } catch {
    return body;
  }
}

function Request({ request: { url, headers, body } }: { request: WebhookDeliveryDetail['request'] }) {
  return (
    <>
      <p className="break">
        <code>POST</code> <Foreign>{url}</Foreign>
      </p>
      <pre className="code">{headersOf(headers)}</pre>
      {body === undefined ? (
        <p className="soft">The event has been deleted or erased: there is nothing left to send.</p>
      ) : (
        <>
          <pre className="code">{indented(body)}</pre>
          <div className="row">
            <CopyButton text={body} what="the body" label="Copy the body" />
            <span className="hint">The signature is left out.</span>
          </div>
        </>
      )}
    </>
  );
}

/** Sends one again, from its first attempt on. */
export function Redeliver({ webhook, delivery }: { webhook: Webhook; delivery: WebhookDelivery }) {
  const may = useMay();
  const change = useChange();
  const toast = useToast();
  const [busy, setBusy] = useState(false);
  if (!may('webhook:manage')) return null;
  const again = async () => {
    setBusy(true);
    await change(post(`/v1/webhooks/${webhook.id}/deliveries/${delivery.id}/redeliver`), {
      refresh: ['deliveries'],
      said: 'It is sent again',
    }).catch((error: Error) => toast(error.message));
    setBusy(false);
  };
  return (
    <Button small busy={busy} disabled={!webhook.enabled} onClick={() => void again()}>
      Send again<span className="visually-hidden">: {words(delivery.eventType)}</span>
    </Button>
  );
}
