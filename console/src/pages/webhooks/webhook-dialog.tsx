import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { patch, post } from '../../api/client';
import type { CreatedWebhook, Data, Webhook } from '../../api/types';
import { useChange, useGoOn } from '../../parts/change';
import { FormDialog } from '../../parts/dialog';
import { LISTENED_TYPES } from '../../parts/event-types';
import { bound, Check, TextField } from '../../parts/field';
import { type Secret, useShowSecret } from '../../parts/secret';

const REFRESH = ['webhooks', 'webhook'];

/** Their order says nothing. */
const isSame = (some: readonly string[], others: readonly string[]): boolean =>
  some.length === others.length && some.every((each) => others.includes(each));

/** Adds a webhook, or changes one. */
export function WebhookDialog({ webhook, onClose }: { webhook?: Webhook; onClose: () => void }) {
  const change = useChange();
  const client = useQueryClient();
  const goOn = useGoOn();
  const [before] = useState({ url: '', description: '', events: ['*'], ...webhook });
  const [url, setUrl] = useState(before.url);
  const [description, setDescription] = useState(before.description);
  const [events, setEvents] = useState<readonly string[]>(before.events);
  const showSecret = useShowSecret();
  const save = async () => {
    const body = { url: url.trim(), events, ...(description !== before.description && { description }) };
    if (webhook) {
      // Someone else may have changed the rest meanwhile.
      const changed = {
        ...body,
        ...(url === before.url && { url: undefined }),
        ...(isSame(events, before.events) && { events: undefined }),
      };
      await change(patch(`/v1/webhooks/${webhook.id}`, changed), { refresh: REFRESH, said: 'Saved' });
      return;
    }
    const { data: created } = await post<Data<CreatedWebhook>>('/v1/webhooks', body);
    showSecret(signingSecret('The webhook is added', created.secret));
    goOn(`/webhooks/${created.id}`);
    // The secret is shown this once: it waits for no list.
    for (const name of REFRESH) void client.invalidateQueries({ queryKey: [name] });
  };
  const every = events.includes('*');
  return (
    <FormDialog
      title={webhook ? 'Change the webhook' : 'Add a webhook'}
      action={webhook ? 'Save' : 'Add'}
      disabled={events.length === 0}
      onSubmit={save}
      onClose={onClose}
    >
      {(said) => (
        <>
          <TextField
            label="Address"
            type="url"
            required
            {...bound(url, setUrl, said('url'))}
            placeholder="https://hooks.example.com/mail"
            hint="https, on the public Internet"
          />
          <TextField label="Description" {...bound(description, setDescription, said('description'))} maxLength={255} />
          <fieldset>
            <legend>Events</legend>
            <div className="checks">
              <Check
                label="All, including future ones"
                checked={every}
                onChange={(checked) => setEvents(checked ? ['*'] : ['delivered', 'bounced'])}
              />
              {!every &&
                LISTENED_TYPES.map((type) => (
                  <Check
                    key={type}
                    label={<code>{type}</code>}
                    checked={events.includes(type)}
                    onChange={(checked) =>
                      setEvents(checked ? [...events, type] : events.filter((each) => each !== type))
                    }
                  />
                ))}
            </div>
          </fieldset>
        </>
      )}
    </FormDialog>
  );
}

/** The secret of a webhook, to be shown. */
export function signingSecret(title: string, secret: string): Secret {
  const text = 'Requests are signed with this secret (Standard Webhooks). Copy it now: it is not shown again.';
  return { title, text, secret, what: 'the secret' };
}
