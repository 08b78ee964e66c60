import { useQuery } from '@tanstack/react-query';
import { Link, useParams } from 'wouter';
import { get, isMissing } from '../../api/client';
import { useMay } from '../../api/session';
import type { Data, EmailContent, EmailDetail, EmailRecipient } from '../../api/types';
import { now } from '../../api/service-clock';
import { ButtonLink } from '../../parts/button';
import { isFinal } from '../../parts/email-words';
import { plural, visible } from '../../parts/format';
import { type Column, Table } from '../../parts/list';
import { idFact } from '../../parts/message';
import { Card, Facts, Page } from '../../parts/page';
import { Empty, LoadedPage, Requires } from '../../parts/states';
import { Badge, Foreign, Moment, Time } from '../../parts/text';
import { EmailActions } from './actions';
import { Preview } from './preview';
import { Timeline } from './timeline';
import { WhyNotThere } from './why-not-there';

const UP = { to: '/emails', name: 'Emails' };
const LIVE_MS = 3_000;
/** For new mail, which users watch. */
const WATCHED_MS = 800;
const NEW_MS = 15_000;

export default function Email() {
  const { id = '' } = useParams();
  const may = useMay();
  if (!may('email:read') && may('email:send')) return <NotRead id={id} />;
  return (
    <Requires scope="email:read">
      <EmailPage key={id} id={id} />
    </Requires>
  );
}

/** Where a key that may only send comes to after it has sent. */
function NotRead({ id }: { id: string }) {
  return (
    <Page title="Email" lead="Your key can send mail, but not read it.">
      <Card>
        <Empty
          icon="emails"
          title="This key cannot see what happens to it"
          action={<ButtonLink to="/send">Send another</ButtonLink>}
        >
          A key with <code>email:read</code> follows it, by its id: <code className="break">{id}</code>
        </Empty>
      </Card>
    </Page>
  );
}

/** How often to load it: opens and late bounces come after the end as well, but users do not wait for them. */
function freshMs(email: EmailDetail | undefined): number {
  if (email?.recipients.every(({ status }) => isFinal(status))) return 15_000;
  const isNew = email !== undefined && now() - new Date(email.createdAt).getTime() < NEW_MS;
  return isNew ? WATCHED_MS : LIVE_MS;
}

function EmailPage({ id }: { id: string }) {
  const query = useQuery({
    queryKey: ['email', id],
    queryFn: ({ signal }) => get<Data<EmailDetail>>(`/v1/emails/${encodeURIComponent(id)}`, undefined, signal),
    refetchInterval: ({ state: { data, error } }) => !isMissing(error) && freshMs(data?.data),
  });
  const content = useQuery({
    queryKey: ['email-content', id],
    queryFn: () => get<Data<EmailContent>>(`/v1/emails/${encodeURIComponent(id)}/content`),
    retry: false,
    staleTime: Infinity,
  });
  return (
    <LoadedPage query={query} title="Email" up={UP}>
      {({ data: email }) => (
        <Page
          title={email.subject || '(no subject)'}
          badge={<Badge status={email.status} />}
          up={UP}
          lead={
            <>
              <Foreign>{email.fromEmail}</Foreign> to <Foreign>{email.toEmails.join(', ')}</Foreign>
            </>
          }
          actions={<EmailActions email={email} content={content.data?.data} />}
        >
          <WhyNotThere email={email} />
          <div className="columns">
            <div className="stack">
              <Preview id={id} query={content} />
              <Recipients email={email} />
            </div>
            <div className="stack">
              <Card title="What happened">
                <Timeline email={email} />
              </Card>
              <Card title="Details">
                <Details email={email} />
              </Card>
            </div>
          </div>
        </Page>
      )}
    </LoadedPage>
  );
}

const COLUMNS: readonly Column<EmailRecipient>[] = [
  {
    name: 'Address',
    look: 'break',
    cell: ({ email, kind }) => (
      <>
        <Foreign>{email}</Foreign> {kind !== 'to' && <span className="badge plain">{kind}</span>}
      </>
    ),
  },
  { name: 'State', isBare: true, cell: ({ status }) => <Badge status={status} /> },
  { name: 'Attempts', look: 'number', cell: ({ attempts }) => attempts },
  {
    name: 'Last result',
    look: 'wide break',
    cell: ({ lastResponse, nextAttemptAt }) => (
      <>
        {lastResponse ? <span className="reply">{visible(lastResponse)}</span> : <span className="soft">none</span>}
        {nextAttemptAt && (
          <div className="hint">
            Next attempt <Time at={nextAttemptAt} />
          </div>
        )}
      </>
    ),
  },
];

function Recipients({ email: { recipients } }: { email: EmailDetail }) {
  return (
    <Card title={plural(recipients.length, 'recipient')} flush>
      <Table caption="Recipients" columns={COLUMNS} rows={recipients} keyOf={({ kind, email }) => `${kind} ${email}`} />
    </Card>
  );
}

function Details({ email }: { email: EmailDetail }) {
  const list = (addresses: readonly string[] | undefined) => addresses && <Foreign>{addresses.join(', ')}</Foreign>;
  return (
    <Facts
      facts={[
        [
          'From',
          <Foreign key="from">{email.fromName ? `${email.fromName} <${email.fromEmail}>` : email.fromEmail}</Foreign>,
        ],
        ['To', list(email.toEmails)],
        ['Cc', list(email.ccEmails)],
        ['Bcc', list(email.bccEmails)],
        ['Reply to', email.replyTo && <Foreign>{email.replyTo}</Foreign>],
        ['Accepted', <Moment key="at" at={email.createdAt} />],
        ['Scheduled for', email.scheduledFor && <Moment at={email.scheduledFor} />],
        ['Tags', email.tags.length > 0 && list(email.tags)],
        ['Sent again from', email.resentFrom && <EmailLinks ids={[email.resentFrom]} />],
        ['Sent again as', email.resentAs && email.resentAs.length > 0 && <EmailLinks ids={email.resentAs} />],
        ['Metadata', email.metadata && <code className="break">{visible(JSON.stringify(email.metadata))}</code>],
        idFact(email.id),
      ]}
    />
  );
}

function EmailLinks({ ids }: { ids: readonly string[] }) {
  return ids.map((id) => (
    <span key={id} className="row">
      <Link href={`/emails/${id}`}>
        <code>{id}</code>
      </Link>
    </span>
  ));
}
