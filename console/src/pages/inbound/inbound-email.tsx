import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useParams } from 'wouter';
import { del, get } from '../../api/client';
import type { Data, InboundEmail } from '../../api/types';
import { Button } from '../../parts/button';
import { useRemoval } from '../../parts/change';
import { Confirm } from '../../parts/dialog';
import { bytes, words } from '../../parts/format';
import { idFact, messageTabs } from '../../parts/message';
import { Card, Facts, Page } from '../../parts/page';
import { useRights } from '../../parts/rights';
import { LoadedPage, Requires } from '../../parts/states';
import { Tabs } from '../../parts/tabs';
import { Badge, Foreign, Moment } from '../../parts/text';

const UP = { to: '/inbound', name: 'Inbound mail' };

/** Why no program should reply to it. */
const MARKS: Readonly<Record<string, string>> = {
  auto_submitted: 'It was generated automatically.',
  bulk: 'It is bulk mail.',
  list: 'It comes from a mailing list.',
  own: 'It is your own mail coming back.',
  loop: 'It has passed too many servers.',
};

export default function InboundEmailDetail() {
  const { id = '' } = useParams();
  return (
    <Requires scope="inbound:read">
      <InboundEmailPage key={id} id={id} />
    </Requires>
  );
}

function InboundEmailPage({ id }: { id: string }) {
  const query = useQuery({
    queryKey: ['inbound-email', id],
    queryFn: () => get<Data<InboundEmail>>(`/v1/inbound-emails/${encodeURIComponent(id)}`),
    staleTime: Infinity,
  });
  return (
    <LoadedPage query={query} title="Inbound mail" up={UP}>
      {({ data: email }) => (
        <Page
          title={email.subject || '(no subject)'}
          up={UP}
          lead={
            <>
              <Foreign>{email.from || email.envelope.from || 'no sender'}</Foreign> to{' '}
              <Foreign>{email.envelope.to.join(', ')}</Foreign>
            </>
          }
          actions={<Actions email={email} />}
        >
          {email.marks.length > 0 && (
            <section className="notice" aria-label="Do not reply automatically">
              <div>
                <strong>Do not reply automatically</strong>
                <p>{email.marks.map((mark) => MARKS[mark] ?? words(mark)).join(' ')}</p>
              </div>
            </section>
          )}
          <div className="columns">
            <div className="stack">
              <Card title="Content">
                <Tabs label="Content" tabs={tabsOf(email)} />
              </Card>
            </div>
            <div className="stack">
              <Card title="Who sent it">
                <Authentication email={email} />
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

function Actions({ email: { id } }: { email: InboundEmail }) {
  const rights = useRights();
  const removal = useRemoval();
  const [asks, setAsks] = useState(false);
  const remove = () =>
    removal(del(`/v1/inbound-emails/${id}`), {
      ...{ refresh: ['inbound'], said: 'The mail is deleted' },
      ...{ to: '/inbound', gone: [['inbound-email', id]] },
    });
  return (
    <>
      <a className="button" href={`/v1/inbound-emails/${id}/raw`} download={`${id}.eml`}>
        Download
      </a>
      {rights('inbound:manage') && (
        <Button kind="danger" onClick={() => setAsks(true)}>
          Delete
        </Button>
      )}
      {asks && (
        <Confirm title="Delete this mail?" action="Delete the mail" onConfirm={remove} onClose={() => setAsks(false)}>
          <p>Its attachments and its event are deleted too. This cannot be undone.</p>
        </Confirm>
      )}
    </>
  );
}

function tabsOf(email: InboundEmail) {
  const { id, headers } = email;
  return messageTabs({
    message: email,
    frame: { src: `/console/preview/inbound/${id}`, title: 'Preview of the mail' },
    headers: <pre className="code">{headers.map(lineOf).join('\n')}</pre>,
    hrefOf: ({ index }) => `/v1/inbound-emails/${id}/attachments/${index}`,
  });
}

/** A field may occur more than once, and its position matters. */
function lineOf({ name, value }: InboundEmail['headers'][number]): string {
  return `${name}: ${value}`;
}

interface Found {
  readonly result: string;
  readonly domain?: string;
}

/** The results at arrival; no mail is refused because of them. */
function Authentication({ email: { authentication } }: { email: InboundEmail }) {
  const { spf, dkim, dmarc, arc } = authentication;
  const shown = (found: Found, index = 0) => (
    <span key={index} className="row">
      <Badge status={found.result} tone={toneOf(found.result)} />
      {found.domain && <Foreign className="break">{found.domain}</Foreign>}
    </span>
  );
  return (
    <Facts
      facts={[
        ['SPF', shown(spf)],
        ['DKIM', dkim.length === 0 ? <span className="soft">not signed</span> : <>{dkim.map(shown)}</>],
        ['DMARC', shown(dmarc)],
        ['ARC', arc && shown(arc)],
      ]}
    />
  );
}

function toneOf(result: string): 'good' | 'bad' | 'warn' {
  if (result === 'pass') return 'good';
  return result === 'fail' ? 'bad' : 'warn';
}

function Details({ email }: { email: InboundEmail }) {
  const { id, envelope, from, to, cc, messageId, inReplyTo, receivedAt, sizeBytes } = email;
  return (
    <Facts
      facts={[
        ['Received', <Moment key="at" at={receivedAt} />],
        [
          'Envelope',
          <Foreign key="envelope">{`${envelope.from || '(null sender)'} → ${envelope.to.join(', ')}`}</Foreign>,
        ],
        ['From', <Foreign key="from">{from}</Foreign>],
        ['To', <Foreign key="to">{to.join(', ')}</Foreign>],
        ['Cc', cc.length > 0 && <Foreign key="cc">{cc.join(', ')}</Foreign>],
        [
          'Message-ID',
          messageId && (
            <Foreign key="message" className="break">
              {messageId}
            </Foreign>
          ),
        ],
        [
          'In reply to',
          inReplyTo && (
            <Foreign key="reply" className="break">
              {inReplyTo}
            </Foreign>
          ),
        ],
        ['Size', bytes(sizeBytes)],
        idFact(id),
      ]}
    />
  );
}
