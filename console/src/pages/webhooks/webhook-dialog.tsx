import { useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { useLocation } from 'wouter';
import { ApiError, patch, post } from '../../api/client';
import type { CreatedWebhook, Data, Webhook } from '../../api/types';
import { Button, CopyButton } from '../../parts/button';
import { Dialog } from '../../parts/dialog';
import { Check, TextField } from '../../parts/field';
import { InlineError } from '../../parts/states';

const TYPES = [
  ...['queued', 'scheduled', 'sending', 'sent', 'delivered', 'deferred', 'bounced', 'hard_bounce', 'soft_bounce'],
  ...['opened', 'clicked', 'unsubscribed', 'spam_report', 'blocked', 'failed', 'cancelled'],
];

/** Adds a webhook, or changes one. */
export function WebhookDialog({ webhook, onClose }: { webhook?: Webhook; onClose: () => void }) {
  const client = useQueryClient();
  const [url, setUrl] = useState(webhook?.url ?? '');
  const [description, setDescription] = useState(webhook?.description ?? '');
  const [events, setEvents] = useState<readonly string[]>(webhook?.events ?? ['*']);
  const [created, setCreated] = useState<CreatedWebhook>();
  const [error, setError] = useState<unknown>();
  const [busy, setBusy] = useState(false);
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    setBusy(true);
    setError(undefined);
    try {
      const body = { url: url.trim(), events, ...(description !== (webhook?.description ?? '') && { description }) };
      if (webhook) await patch(`/v1/webhooks/${webhook.id}`, body);
      else setCreated((await post<Data<CreatedWebhook>>('/v1/webhooks', body)).data);
      await Promise.all([
        client.invalidateQueries({ queryKey: ['webhooks'] }),
        client.invalidateQueries({ queryKey: ['webhook'] }),
      ]);
      if (webhook) onClose();
    } catch (failed) {
      setError(failed);
    }
    setBusy(false);
  };
  const [, navigate] = useLocation();
  if (created)
    return (
      <SecretDialog
        secret={created.secret}
        title="The webhook is added"
        onClose={() => navigate(`/webhooks/${created.id}`)}
      />
    );
  const said = error instanceof ApiError ? error.validation : {};
  const every = events.includes('*');
  return (
    <Dialog title={webhook ? 'Change the webhook' : 'Add a webhook'} onClose={onClose}>
      <form className="form" onSubmit={submit}>
        <TextField
          label="Address"
          type="url"
          required
          autoFocus
          value={url}
          placeholder="https://hooks.example.com/mail"
          onChange={(event) => setUrl(event.target.value)}
          error={said.url?.join('. ')}
          hint="https, on the public Internet"
        />
        <TextField
          label="Description"
          value={description}
          maxLength={255}
          onChange={(event) => setDescription(event.target.value)}
        />
        <fieldset>
          <legend>Events</legend>
          <div className="checks">
            <Check
              label="All, those to come too"
              checked={every}
              onChange={(checked) => setEvents(checked ? ['*'] : ['delivered', 'bounced'])}
            />
            {!every &&
              TYPES.map((type) => (
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
        {said.url === undefined && <InlineError error={error} />}
        <div className="dialog-actions">
          <Button onClick={onClose}>Close</Button>
          <Button kind="primary" type="submit" busy={busy} disabled={events.length === 0}>
            {webhook ? 'Save' : 'Add'}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

export function SecretDialog({ secret, title, onClose }: { secret: string; title: string; onClose: () => void }) {
  return (
    <Dialog title={title} onClose={onClose}>
      <div className="stack">
        <p>What is sent is signed with this secret (Standard Webhooks). Copy it now: it is not shown again.</p>
        <code className="secret">{secret}</code>
      </div>
      <div className="dialog-actions">
        <CopyButton text={secret} what="the secret" label="Copy" />
        <Button kind="primary" onClick={onClose}>
          I have it
        </Button>
      </div>
    </Dialog>
  );
}
