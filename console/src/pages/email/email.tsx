import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useParams } from 'wouter';
import { get, post } from '../../api/client';
import { useMay } from '../../api/session';
import type { Data, EmailContent, EmailDetail, EmailEvent } from '../../api/types';
import { Button, CopyButton } from '../../parts/button';
import { Confirm } from '../../parts/dialog';
import { isFinal, sentenceOf, toneOfEvent, whyItWaits } from '../../parts/email-words';
import { bytes, plural } from '../../parts/format';
import { Card, Facts, Page } from '../../parts/page';
import { Empty, Loaded, Requires } from '../../parts/states';
import { Tabs } from '../../parts/tabs';
import { Badge, Moment, Time } from '../../parts/text';
import { useToast } from '../../parts/toast';
import { Attempts } from './attempts';
import { toCurl } from './to-curl';

const LIVE_MS = 2_500;
const CANCELLABLE = ['scheduled', 'queued'];

export default function Email() {
  const { id = '' } = useParams();
  return (
    <Requires scope="email:read">
      <EmailPage key={id} id={id} />
    </Requires>
  );
}

function EmailPage({ id }: { id: string }) {
  const query = useQuery({
    queryKey: ['email', id],
    queryFn: ({ signal }) => get<Data<EmailDetail>>(`/v1/emails/${encodeURIComponent(id)}`, undefined, signal),
    // Opens and late bounces come after the end as well, but nobody waits for them.
    refetchInterval: ({ state }) =>
      state.data && state.data.data.recipients.every(({ status }) => isFinal(status)) ? 15_000 : LIVE_MS,
  });
  const content = useQuery({
    queryKey: ['email-content', id],
    queryFn: () => get<Data<EmailContent>>(`/v1/emails/${encodeURIComponent(id)}/content`),
    retry: false,
    staleTime: Infinity,
  });
  if (!query.data) {
    return (
      <Page title="Email" up={{ to: '/emails', name: 'Emails' }}>
        <Card>
          <Loaded query={query}>{() => null}</Loaded>
        </Card>
      </Page>
    );
  }
  const email = query.data.data;
  return (
    <Page
      title={email.subject || '(no subject)'}
      badge={<Badge status={email.status} />}
      up={{ to: '/emails', name: 'Emails' }}
      lead={
        <>
          <bdi>{email.fromEmail}</bdi> to <bdi>{email.toEmails.join(', ')}</bdi>
        </>
      }
      actions={<Actions email={email} content={content.data?.data} />}
    >
      <WhyNotThere email={email} />
      <div className="columns">
        <div className="stack">
          <Preview id={id} query={content} />
          <Recipients email={email} />
          <Attempts id={id} live={email.recipients.some(({ status }) => !isFinal(status))} />
        </div>
        <div className="stack">
          <Card title="What happened">
            <Timeline events={email.events} />
          </Card>
          <Card title="Details">
            <Details email={email} />
          </Card>
        </div>
      </div>
    </Page>
  );
}

function Actions({ email, content }: { email: EmailDetail; content: EmailContent | undefined }) {
  const may = useMay();
  const client = useQueryClient();
  const toast = useToast();
  const [asks, setAsks] = useState(false);
  const cancel = async () => {
    await post(`/v1/emails/${email.id}/cancel`);
    await client.invalidateQueries({ queryKey: ['email', email.id] });
    toast('Cancelled: nobody will receive it');
  };
  return (
    <>
      <CopyButton
        text={toCurl(email, content, window.location.origin)}
        what="the email as a curl command"
        label="Copy as curl"
      />
      {may('email:send') && CANCELLABLE.includes(email.status) && (
        <Button kind="danger" onClick={() => setAsks(true)}>
          Cancel
        </Button>
      )}
      {asks && (
        <Confirm title="Cancel this email?" action="Cancel the email" onConfirm={cancel} onClose={() => setAsks(false)}>
          <p>
            {plural(email.recipients.length, 'recipient')} will not receive it. There is no way back; it can only be
            sent anew.
          </p>
        </Confirm>
      )}
    </>
  );
}

/** Why it waits, in a sentence for each recipient whose copy is still on its way. */
function WhyNotThere({ email }: { email: EmailDetail }) {
  const open = email.recipients
    .map((recipient) => ({ address: recipient.email, why: whyItWaits(email, recipient) }))
    .filter(({ why }) => why !== undefined);
  if (open.length === 0) return null;
  return (
    <section className="notice" aria-label="Why it waits">
      <div>
        <strong>Why it waits</strong>
        {open.slice(0, 5).map(({ address, why }) => (
          <p key={address}>
            <bdi>{address}</bdi>: {why}
          </p>
        ))}
        {open.length > 5 && <p>And {plural(open.length - 5, 'more recipient')}.</p>}
      </div>
    </section>
  );
}

function Preview({ id, query }: { id: string; query: ReturnType<typeof useQuery<Data<EmailContent>>> }) {
  const [remote, setRemote] = useState(false);
  return (
    <Card title="Content">
      {query.isError ? (
        <Empty icon="emails" title="The content is not kept any more">
          Bodies and attachments are deleted some time after an email has come to its end; its events stay.
        </Empty>
      ) : (
        <Loaded query={query}>
          {({ data }) => (
            <Tabs
              label="Content"
              tabs={[
                ...(data.html !== undefined
                  ? [{ name: 'Preview', content: <HtmlFrame id={id} remote={remote} setRemote={setRemote} /> }]
                  : []),
                ...(data.text !== undefined
                  ? [{ name: 'Text', content: <pre className="code">{data.text}</pre> }]
                  : []),
                ...(data.html !== undefined
                  ? [{ name: 'HTML', content: <pre className="code">{data.html}</pre> }]
                  : []),
                { name: 'Headers', content: <Headers headers={data.headers} /> },
                ...(data.attachments.length > 0
                  ? [
                      {
                        name: `Attachments (${data.attachments.length})`,
                        content: <Attachments attachments={data.attachments} />,
                      },
                    ]
                  : []),
              ]}
            />
          )}
        </Loaded>
      )}
    </Card>
  );
}

/** The mail's own document, in a frame that may do nothing: no script, no form, nothing from elsewhere unless asked for. */
function HtmlFrame({ id, remote, setRemote }: { id: string; remote: boolean; setRemote: (remote: boolean) => void }) {
  return (
    <>
      <div className="row between">
        <span className="hint">
          {remote ? 'Pictures of other hosts are loaded.' : 'Scripts, forms, links and everything remote are off.'}
        </span>
        <Button small onClick={() => setRemote(!remote)} aria-pressed={remote}>
          {remote ? 'Block remote pictures' : 'Load remote pictures'}
        </Button>
      </div>
      <iframe
        className="preview"
        sandbox=""
        referrerPolicy="no-referrer"
        title="Preview of the email"
        src={`/console/preview/${id}${remote ? '?remote=true' : ''}`}
      />
    </>
  );
}

function Headers({ headers }: { headers: Record<string, string> }) {
  const entries = Object.entries(headers);
  if (entries.length === 0) return <p className="soft">No headers beside the usual ones.</p>;
  return <Facts facts={entries.map(([name, value]) => [name, <bdi key={name}>{value}</bdi>] as const)} />;
}

function Attachments({ attachments }: { attachments: EmailContent['attachments'] }) {
  return (
    <ul className="stack">
      {attachments.map(({ filename, contentType, size }, index) => (
        <li key={index} className="row between">
          <bdi className="break">{filename}</bdi>
          <span className="soft">
            <bdi>{contentType}</bdi> · {bytes(size)}
          </span>
        </li>
      ))}
    </ul>
  );
}

function Recipients({ email }: { email: EmailDetail }) {
  return (
    <Card title={plural(email.recipients.length, 'recipient')} flush>
      <div className="table-wrap">
        <table className="stacking">
          <thead>
            <tr>
              <th scope="col">Address</th>
              <th scope="col">State</th>
              <th scope="col" className="number">
                Attempts
              </th>
              <th scope="col">Last reply</th>
            </tr>
          </thead>
          <tbody>
            {email.recipients.map((recipient, index) => (
              <tr key={index}>
                <td className="break">
                  <bdi>{recipient.email}</bdi>{' '}
                  {recipient.kind !== 'to' && <span className="badge plain">{recipient.kind}</span>}
                </td>
                <td>
                  <Badge status={recipient.status} />
                </td>
                <td className="number" data-label="Attempts">
                  {recipient.attempts}
                </td>
                <td className="wide break" data-label="Last reply">
                  {recipient.lastResponse ? (
                    <span className="reply">{recipient.lastResponse}</span>
                  ) : (
                    <span className="soft">none</span>
                  )}
                  {recipient.nextAttemptAt && (
                    <span className="hint">
                      {' '}
                      next <Time at={recipient.nextAttemptAt} />
                    </span>
                  )}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </Card>
  );
}

const SHOWN_APART = new Set(['recipient', 'response', 'metadata']);

function Timeline({ events }: { events: readonly EmailEvent[] }) {
  return (
    <ol className="timeline">
      {events.toReversed().map((event) => (
        <li key={event.id} className={toneOfEvent(event)}>
          <div className="row between">
            <strong>{sentenceOf(event)}</strong>
            <span className="soft hint">
              <Time at={event.timestamp} />
            </span>
          </div>
          {typeof event.eventData.recipient === 'string' && (
            <div className="hint break">
              <bdi>{event.eventData.recipient}</bdi>
            </div>
          )}
          {typeof event.eventData.response === 'string' && <p className="reply">{event.eventData.response}</p>}
          <EventFacts event={event} />
        </li>
      ))}
    </ol>
  );
}

function EventFacts({ event }: { event: EmailEvent }) {
  const facts = Object.entries(event.eventData).filter(([name, value]) => !SHOWN_APART.has(name) && value !== null);
  return (
    <details>
      <summary>
        {event.eventType} · {event.source}
      </summary>
      <Facts
        facts={[
          ...facts.map(
            ([name, value]) =>
              [name, <bdi key={name}>{typeof value === 'string' ? value : JSON.stringify(value)}</bdi>] as const,
          ),
          ['at', <Moment key="at" at={event.timestamp} />],
        ]}
      />
    </details>
  );
}

function Details({ email }: { email: EmailDetail }) {
  const list = (addresses: readonly string[] | undefined) => addresses && <bdi>{addresses.join(', ')}</bdi>;
  return (
    <Facts
      facts={[
        ['From', <bdi key="from">{email.fromName ? `${email.fromName} <${email.fromEmail}>` : email.fromEmail}</bdi>],
        ['To', list(email.toEmails)],
        ['Cc', list(email.ccEmails)],
        ['Bcc', list(email.bccEmails)],
        ['Reply to', email.replyTo && <bdi>{email.replyTo}</bdi>],
        ['Accepted', <Moment key="at" at={email.createdAt} />],
        ['Scheduled for', email.scheduledFor && <Moment at={email.scheduledFor} />],
        ['Tags', email.tags.join(', ')],
        ['Metadata', email.metadata && <code className="break">{JSON.stringify(email.metadata)}</code>],
        [
          'Id',
          <span key="id" className="row">
            <code className="break">{email.id}</code>
            <CopyButton text={email.id} what="the id" />
          </span>,
        ],
      ]}
    />
  );
}
