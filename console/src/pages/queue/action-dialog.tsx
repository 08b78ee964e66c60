import { useQuery, useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { get, post } from '../../api/client';
import type { Data, QueueAction, QueueFilter, QueueShare } from '../../api/types';
import { Button } from '../../parts/button';
import { Dialog } from '../../parts/dialog';
import { TextField } from '../../parts/field';
import { count, plural } from '../../parts/format';
import { InlineError, Loaded } from '../../parts/states';

export type ActionName = QueueAction['action'];

const WORDS: Readonly<Record<ActionName, { readonly title: string; readonly effect: string; readonly back: string }>> =
  {
    retry_now: {
      title: 'Retry now?',
      effect: 'What waits for its next attempt is due at once.',
      back: 'Those that fail again wait for their next attempt.',
    },
    hold: {
      title: 'Hold them?',
      effect: 'No worker takes them until they are released; their four days go on.',
      back: 'They can be released at any time.',
    },
    release: {
      title: 'Release them?',
      effect: 'What is held goes back into the queue.',
      back: 'They can be held again.',
    },
    fail: {
      title: 'Fail them?',
      effect: 'They end as failed, with the reason “operator”; nobody receives them.',
      back: 'There is no way back.',
    },
  };

/** How many open deliveries a filter is for, counted by what the queue itself counts. */
async function matching({ organizationId, destination }: QueueFilter): Promise<number | undefined> {
  if (organizationId && destination) return undefined;
  const by = organizationId ? 'organization' : 'destination';
  const { data } = await get<Data<QueueShare[]>>('/operator/v1/queue', { by, limit: 500 });
  const share = data.find(({ key }) => key === (organizationId ?? destination));
  return share ? share.ready + share.waiting + share.claimed + share.held : 0;
}

export function ActionDialog({
  action,
  filter,
  onClose,
}: {
  action: ActionName;
  filter: QueueFilter;
  onClose: () => void;
}) {
  const client = useQueryClient();
  const [reason, setReason] = useState('');
  const [started, setStarted] = useState<string>();
  const [error, setError] = useState<unknown>();
  const [busy, setBusy] = useState(false);
  const preview = useQuery({
    queryKey: ['matching', filter],
    queryFn: () => matching(filter).then((value) => ({ value })),
  });
  const { title, effect, back } = WORDS[action];
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    setBusy(true);
    try {
      setStarted((await post<Data<{ id: string }>>('/operator/v1/queue/actions', { action, filter, reason })).data.id);
      await client.invalidateQueries({ queryKey: ['open-deliveries'] });
    } catch (failed) {
      setError(failed);
    }
    setBusy(false);
  };
  if (started !== undefined) return <Progress id={started} onClose={onClose} />;
  return (
    <Dialog title={title} onClose={onClose}>
      <form className="form" onSubmit={submit}>
        <p>
          {effect} {back}
        </p>
        <Loaded query={preview} lines={1}>
          {({ value }) => (
            <p>
              {value === undefined ? 'All open deliveries' : plural(value, 'open delivery', 'open deliveries')}
              {filter.organizationId && <> of {filter.organizationId}</>}
              {filter.destination && <> to {filter.destination}</>}. What a worker has in its hands is left alone.
            </p>
          )}
        </Loaded>
        <TextField
          label="Reason"
          required
          autoFocus
          maxLength={500}
          value={reason}
          onChange={(event) => setReason(event.target.value)}
          hint="Kept in the audit log."
        />
        <InlineError error={error} />
        <div className="dialog-actions">
          <Button onClick={onClose}>Leave them</Button>
          <Button
            kind={action === 'fail' ? 'danger primary' : 'primary'}
            type="submit"
            busy={busy}
            disabled={reason.trim() === ''}
          >
            {title.replace('?', '')}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

function Progress({ id, onClose }: { id: string; onClose: () => void }) {
  const query = useQuery({
    queryKey: ['queue-action', id],
    queryFn: () => get<Data<QueueAction>>(`/operator/v1/queue/actions/${id}`),
    refetchInterval: ({ state }) => (state.data?.data.status === 'completed' ? false : 1_000),
  });
  return (
    <Dialog title="What has been done" onClose={onClose}>
      <Loaded query={query} lines={2}>
        {({ data }) => (
          <div role="status" className="stack">
            {data.status === 'running' && <progress aria-label="Under way" />}
            <p>
              {count(data.changed)} changed of {count(data.matched)} that match
              {data.claimed > 0 && `; ${count(data.claimed)} were in the hands of a worker`}.
            </p>
          </div>
        )}
      </Loaded>
      <div className="dialog-actions">
        <Button kind="primary" onClick={onClose}>
          Close
        </Button>
      </div>
    </Dialog>
  );
}
