import { type FormEvent, type ReactNode, useState } from 'react';
import { ApiError } from '../../api/client';
import { sendOnce } from '../../api/send-once';
import { useSession } from '../../api/session';
import type { Data } from '../../api/types';
import { Button } from '../../parts/button';
import { useGoOn } from '../../parts/change';
import { useDomains } from '../../parts/domains';
import { bound, TextArea, TextField, useRefusalFocus } from '../../parts/field';
import { Card, Page } from '../../parts/page';
import { PageLink } from '../../parts/rights';
import { InlineError, Requires } from '../../parts/states';
import { useToast } from '../../parts/toast';
import { Simulator } from './simulator';
import { useWritten } from './written';

export default function Send() {
  return (
    <Requires scope="email:send">
      <SendPage />
    </Requires>
  );
}

function SendPage() {
  const { key, service } = useSession();
  const isTest = key.mode === 'test';
  const lead = isTest
    ? 'A test key sends to the simulator: nothing leaves the service.'
    : service.deliveryMode === 'local'
      ? 'In local mode all mail goes to the local mailbox.'
      : 'A live key sends to real people.';
  return (
    <Page title="Send a test mail" lead={lead}>
      <div className="columns">
        <SendForm />
        <Card title="Where it goes">
          {isTest ? (
            <p>
              The part before the <code>@</code> decides what happens to it. Any other address is delivered.
            </p>
          ) : service.deliveryMode === 'local' ? (
            <p>
              Nothing leaves this machine: see it arrive in the <a href="/mailbox">local mailbox</a>.
            </p>
          ) : (
            <p>It is delivered like any other mail. Sign in with a test key to send to the simulator instead.</p>
          )}
        </Card>
      </div>
    </Page>
  );
}

const LOCAL_PART = 'hello';

/** At the default domain, which the service adds by itself where it is not among those that are read. */
function useSender(): string | undefined {
  const { data: all, total } = useDomains().data ?? { data: [], total: 0 };
  const standard = all.find(({ is_default }) => is_default);
  if (!standard && total > all.length) return LOCAL_PART;
  const domain = standard ?? all[0];
  return domain && `${LOCAL_PART}@${domain.domain}`;
}

/** What is to be known of the sender that is written there. */
function senderHint(from: string | undefined): ReactNode {
  if (from === undefined) {
    return (
      <>
        Its{' '}
        <PageLink scope="domain:read" to="/domains">
          domain
        </PageLink>{' '}
        has to be verified.
      </>
    );
  }
  return from.includes('@') ? undefined : 'Without a domain, it is sent from your default domain.';
}

function SendForm() {
  const { key } = useSession();
  const sender = useSender();
  const toast = useToast();
  const goOn = useGoOn();
  const { mail, set, forget } = useWritten();
  const { from, to, subject, html } = mail;
  const [error, setError] = useState<unknown>();
  const [busy, setBusy] = useState(false);
  const form = useRefusalFocus(error);
  const fieldError = (name: string) =>
    error instanceof ApiError
      ? Object.entries(error.validation)
          .find(([path]) => path === name || path.startsWith(`${name}[`))?.[1]
          .join('. ')
      : undefined;
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    setBusy(true);
    setError(undefined);
    const recipients = to.split(/[\s,;]+/).filter((address) => address !== '');
    const wanted = from ?? sender ?? '';
    try {
      const { data } = await sendOnce<Data<{ id: string }>>('/v1/emails', {
        ...(wanted !== '' && { from: wanted }),
        to: recipients,
        subject,
        html,
        tags: ['console'],
      });
      forget();
      toast('Accepted: it is on its way');
      goOn(`/emails/${data.id}`);
    } catch (failed) {
      setError(failed);
      setBusy(false);
    }
  };
  return (
    <Card>
      <form ref={form} className="form" onSubmit={submit}>
        {key.mode === 'test' && <Simulator to={to} choose={set('to')} />}
        <TextField
          label="From"
          type="text"
          inputMode="email"
          value={from ?? sender ?? ''}
          onChange={(event) => set('from')(event.target.value)}
          error={fieldError('from')}
          hint={senderHint(from ?? sender)}
        />
        <TextField
          label="To"
          type="text"
          inputMode="email"
          required
          {...bound(to, set('to'), fieldError('to'))}
          placeholder="you@example.com"
          hint="Separate several addresses with commas."
        />
        <TextField
          label="Subject"
          required
          {...bound(subject, set('subject'), fieldError('subject'))}
          maxLength={998}
        />
        <TextArea
          label="HTML"
          required
          {...bound(html, set('html'), fieldError('html'))}
          spellCheck={false}
          className="mono"
          rows={8}
          hint="A text version is generated from it."
        />
        <InlineError error={error} />
        <div className="row">
          <Button kind="primary" type="submit" icon="send" busy={busy}>
            {busy ? 'Sending…' : 'Send'}
          </Button>
        </div>
      </form>
    </Card>
  );
}
