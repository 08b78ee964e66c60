import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { get, post } from '../../api/client';
import type { Data, QueueAction, QueueFilter, QueueShare } from '../../api/types';
import { Button } from '../../parts/button';
import { useChange } from '../../parts/change';
import { Dialog, FormDialog } from '../../parts/dialog';
import { bound, TextField } from '../../parts/field';
import { count, plural } from '../../parts/format';
import { OrganizationName } from '../../parts/organization-name';
import { Loaded } from '../../parts/states';
import { actionInterval, leftAlone } from './action-progress';
import { Foreign } from '../../parts/text';

export type ActionName = QueueAction['action'];

const WORDS: Readonly<Record<ActionName, { readonly title: string; readonly effect: string; readonly back: string }>> =
  {
    retry_now: {
      title: 'Retry now?',
      effect: 'Deliveries that wait for their next attempt are due now.',
      back: 'Those that fail again wait for their next attempt.',
    },
    hold: {
      title: 'Hold them?',
      effect: 'No worker sends them until they are released. Their four days continue to run.',
      back: 'They can be released at any time.',
    },
    release: {
      title: 'Release them?',
      effect: 'Held deliveries return to the queue.',
      back: 'They can be held again.',
    },
    fail: {
      title: 'Fail them?',
      effect: 'They end as failed, with the reason “operator”; nobody receives them.',
      back: 'This cannot be undone.',
    },
  };

interface Matching {
  readonly open: number;
  /** There are more, which are not counted. */
  readonly orMore: boolean;
}

const COUNTED = 100;

/** The exact number for one organization or destination, if it is among the largest shares. */
async function shareOf({ organizationId, destination, emailId, recipient }: QueueFilter) {
  if (emailId ?? recipient ?? (organizationId && destination)) return undefined;
  const by = organizationId ? 'organization' : 'destination';
  const { data } = await get<Data<QueueShare[]>>('/operator/v1/queue', { by, limit: 500 });
  return data.find(({ key }) => key === (organizationId ?? destination));
}

/** How many open deliveries a filter is for. The service reads the filter as the action does: case and Unicode in a domain do not matter. */
async function matching(filter: QueueFilter): Promise<Matching> {
  const share = await shareOf(filter);
  if (share) return { open: share.ready + share.waiting + share.claimed + share.held, orMore: false };
  const page = await get<{ data: unknown[]; nextCursor?: string }>('/operator/v1/queue/deliveries', {
    ...{ organization_id: filter.organizationId, destination: filter.destination, limit: COUNTED },
    ...{ email_id: filter.emailId, recipient: filter.recipient },
  });
  return { open: page.data.length, orMore: page.nextCursor !== undefined };
}

interface ActionProps {
  readonly action: ActionName;
  readonly filter: QueueFilter;
  readonly onClose: () => void;
}

/** Asks the user before an action on a part of the queue: whose mail, how many, the reason, and whether it can be undone. */
export function ActionDialog({ action, filter, onClose }: ActionProps) {
  const change = useChange();
  const [reason, setReason] = useState('');
  const [started, setStarted] = useState<string>();
  const preview = useQuery({ queryKey: ['matching', filter], queryFn: () => matching(filter) });
  const { title, effect, back } = WORDS[action];
  if (started !== undefined) return <Progress id={started} onClose={onClose} />;
  const begin = async () => {
    const begun = post<Data<{ id: string }>>('/operator/v1/queue/actions', { action, filter, reason });
    setStarted((await change(begun, { refresh: [] })).data.id);
  };
  return (
    <FormDialog
      title={title}
      action={title.replace('?', '')}
      isDangerous={action === 'fail'}
      disabled={reason.trim() === ''}
      onSubmit={begin}
      onDone={() => undefined}
      onClose={onClose}
    >
      {(said) => (
        <>
          <p>
            {effect} {back}
          </p>
          <Loaded query={preview} lines={1}>
            {({ open, orMore }) => (
              <p>
                {orMore && 'More than '}
                {plural(open, 'open delivery', 'open deliveries')}
                {filter.organizationId && (
                  <>
                    {' '}
                    of <OrganizationName id={filter.organizationId} />
                  </>
                )}
                {filter.destination && (
                  <>
                    {' '}
                    to <Foreign>{filter.destination}</Foreign>
                  </>
                )}
                {filter.emailId && (
                  <>
                    {' '}
                    of the email <code>{filter.emailId}</code>
                  </>
                )}
                {filter.recipient && (
                  <>
                    {' '}
                    to <Foreign>{filter.recipient}</Foreign>
                  </>
                )}
                , whatever their state: the list’s filter by state does not apply. What a worker is delivering is left
                alone.
              </p>
            )}
          </Loaded>
          <TextField
            label="Reason"
            required
            maxLength={500}
            {...bound(reason, setReason, said('reason'))}
            hint="Kept in the audit log."
          />
        </>
      )}
    </FormDialog>
  );
}

function Progress({ id, onClose }: { id: string; onClose: () => void }) {
  const query = useQuery({
    queryKey: ['queue-action', id],
    queryFn: () => get<Data<QueueAction>>(`/operator/v1/queue/actions/${id}`),
    refetchInterval: ({ state: { data, error } }) => actionInterval(data, error),
  });
  const client = useQueryClient();
  const isDone = query.data?.data.status === 'completed';
  useEffect(() => {
    // What the page shows behind it has changed only now.
    if (isDone) for (const name of ['open-deliveries', 'queue']) void client.invalidateQueries({ queryKey: [name] });
  }, [isDone, client]);
  return (
    <Dialog title={isDone ? 'Result' : 'In progress'} onClose={onClose}>
      <Loaded query={query} lines={2}>
        {({ data }) => (
          <div role="status" className="stack">
            {data.status === 'running' && <progress aria-label="Under way" />}
            {/* Before its first part, “0 of 0” would read as the result. */}
            {(isDone || data.matched > 0) && (
              <p>
                {count(data.changed)} changed of {count(data.matched)} that match
                {data.claimed > 0 && `; ${count(data.claimed)} were in the hands of a worker`}.
              </p>
            )}
            {leftAlone(data) !== undefined && <p>{leftAlone(data)}</p>}
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
