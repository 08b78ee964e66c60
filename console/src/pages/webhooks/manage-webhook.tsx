import { useState } from 'react';
import { del, patch, post } from '../../api/client';
import type { Data, Webhook } from '../../api/types';
import { now } from '../../api/service-clock';
import { Button } from '../../parts/button';
import { useChange, useRemoval } from '../../parts/change';
import { Confirm, FormDialog } from '../../parts/dialog';
import { localMoment, momentIn } from '../../parts/format';
import { MomentField } from '../../parts/moment-field';
import { useShowSecret } from '../../parts/secret';
import { InlineError } from '../../parts/states';
import { signingSecret, WebhookDialog } from './webhook-dialog';
import { Foreign } from '../../parts/text';

type Asked = 'change' | 'rotate' | 'remove' | 'replay';

const REFRESH = ['webhook', 'webhooks', 'deliveries'];

/** The actions for a webhook. */
export function Manage({ webhook }: { webhook: Webhook }) {
  const change = useChange();
  const [asks, setAsks] = useState<Asked>();
  const showSecret = useShowSecret();
  const [error, setError] = useState<unknown>();
  const [busy, setBusy] = useState(false);
  const { enabled, id } = webhook;
  const path = `/v1/webhooks/${id}`;
  const close = () => setAsks(undefined);
  const act = (work: () => Promise<unknown>, said: string) => {
    setError(undefined);
    setBusy(true);
    change(work(), { refresh: REFRESH, said })
      .catch(setError)
      .finally(() => setBusy(false));
  };
  const toggle = () =>
    act(
      () => patch(path, { enabled: !enabled }),
      enabled ? 'It no longer receives events' : 'It receives events from now on',
    );
  return (
    <>
      <Button
        kind="primary"
        icon="send"
        disabled={!enabled}
        busy={busy}
        onClick={() => act(() => post(`${path}/test`), 'A test event is on its way')}
      >
        Send a test
      </Button>
      <Button onClick={() => setAsks('change')}>Change</Button>
      <Button onClick={toggle} busy={busy}>
        {enabled ? 'Disable' : 'Enable'}
      </Button>
      <Button disabled={!enabled} onClick={() => setAsks('replay')}>
        Replay
      </Button>
      <Button onClick={() => setAsks('rotate')}>Rotate secret</Button>
      <Button kind="danger" onClick={() => setAsks('remove')}>
        Remove
      </Button>
      <InlineError error={error} />
      {asks === 'change' && <WebhookDialog webhook={webhook} onClose={close} />}
      {asks === 'replay' && <ReplayDialog path={path} onClose={close} />}
      {asks === 'rotate' && (
        <Confirm
          title="Rotate the secret?"
          action="Rotate"
          onClose={close}
          onConfirm={async () => {
            const { data } = await post<Data<{ secret: string }>>(`${path}/rotate-secret`);
            showSecret(signingSecret('The new secret', data.secret));
          }}
        >
          <p>
            A new secret is created. For 24 hours requests are signed with both, so that you can change the receiver
            without a gap.
          </p>
        </Confirm>
      )}
      {asks === 'remove' && <RemoveDialog webhook={webhook} onClose={close} />}
    </>
  );
}

const DAY_MS = 86_400_000;

function ReplayDialog({ path, onClose }: { path: string; onClose: () => void }) {
  const change = useChange();
  const [from, setFrom] = useState(() => localMoment(now() - DAY_MS));
  const [to, setTo] = useState('');
  const span = { from: momentIn(from), ...(to !== '' && { to: momentIn(to) }) };
  return (
    <FormDialog
      title="Replay events?"
      action="Replay"
      isDangerous
      disabled={from === ''}
      onClose={onClose}
      onSubmit={() => change(post(`${path}/replay`, span), { refresh: REFRESH, said: 'The replay has begun' })}
    >
      {(said) => (
        <>
          <p>
            Every event of this period that it subscribes to is sent again with the same id, by which receivers can
            recognize it. A replay cannot be stopped.
          </p>
          <MomentField label="From" required value={from} onChange={setFrom} error={said('from')} />
          <MomentField
            label="To"
            value={to}
            onChange={setTo}
            error={said('to')}
            hint="Leave empty for the present. At most 30 days."
          />
        </>
      )}
    </FormDialog>
  );
}

function RemoveDialog({ webhook: { id, url }, onClose }: { webhook: Webhook; onClose: () => void }) {
  const removal = useRemoval();
  const remove = () =>
    removal(del(`/v1/webhooks/${id}`), {
      ...{ refresh: ['webhooks'], said: 'The webhook is removed' },
      ...{
        to: '/webhooks',
        gone: [
          ['webhook', id],
          ['deliveries', id],
        ],
      },
    });
  return (
    <Confirm title="Remove this webhook?" action="Remove the webhook" onClose={onClose} onConfirm={remove}>
      <p>
        <Foreign className="break">{url}</Foreign> no longer receives anything, and its deliveries are deleted. This
        cannot be undone.
      </p>
    </Confirm>
  );
}
