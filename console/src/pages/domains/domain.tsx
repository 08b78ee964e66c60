import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { Link, useParams } from 'wouter';
import { del, get, post, isMissing } from '../../api/client';
import { useMay } from '../../api/session';
import type { Data, Domain, DomainVerification } from '../../api/types';
import { Button } from '../../parts/button';
import { useRemoval } from '../../parts/change';
import { Confirm } from '../../parts/dialog';
import { CAUSES } from '../../parts/domains';
import { idFact } from '../../parts/message';
import { Card, Facts, Page } from '../../parts/page';
import { useRights } from '../../parts/rights';
import { InlineError, LoadedPage, Requires } from '../../parts/states';
import { Badge, Foreign, Moment } from '../../parts/text';
import { useToast } from '../../parts/toast';
import { Dmarc } from './dmarc';
import { Records } from './records';
import { ReputationCard } from './reputation';
import { WarmUp } from './warm-up';

const UP = { to: '/domains', name: 'Domains' };

export default function DomainScreen() {
  const { id = '' } = useParams();
  return (
    <Requires scope="domain:read">
      <DomainPage key={id} id={id} />
    </Requires>
  );
}

interface Found {
  readonly verification: DomainVerification;
  /** Of the domain right after it. */
  readonly state?: string;
}

const stateOf = ({ verification_status, dkim_status, records }: Domain): string =>
  JSON.stringify([verification_status, dkim_status, records]);

function DomainPage({ id }: { id: string }) {
  const rights = useRights();
  const client = useQueryClient();
  const toast = useToast();
  const [found, setFound] = useState<Found>();
  const [error, setError] = useState<unknown>();
  const [busy, setBusy] = useState(false);
  const query = useQuery({
    queryKey: ['domain', id],
    queryFn: () => get<Data<Domain>>(`/v1/domains/${encodeURIComponent(id)}`),
    refetchInterval: ({ state }) => !isMissing(state.error) && 30_000,
  });
  const refresh = () =>
    Promise.all([
      client.invalidateQueries({ queryKey: ['domain', id] }),
      client.invalidateQueries({ queryKey: ['domains'] }),
    ]);
  /** What was found in DNS is about the records of before. */
  const renew = () => {
    setFound(undefined);
    return refresh();
  };
  const verify = async () => {
    setBusy(true);
    setError(undefined);
    try {
      const { data } = await post<Data<DomainVerification>>(`/v1/domains/${id}/verify`);
      setFound({ verification: data });
      toast(data.success ? 'Verified' : 'DNS checked: something is missing');
      await refresh();
      const after = client.getQueryData<Data<Domain>>(['domain', id]);
      // Unless they have been dropped meanwhile.
      if (after) setFound((now) => now && { ...now, state: stateOf(after.data) });
    } catch (failed) {
      setError(failed);
    } finally {
      setBusy(false);
    }
  };
  return (
    <LoadedPage query={query} title="Domain" up={UP}>
      {({ data: domain }) => {
        // A later look into DNS has found something else: what is shown is the present state.
        const isPresent = found?.state === undefined || found.state === stateOf(domain);
        const verification = isPresent ? found?.verification : undefined;
        return (
          <Page
            title={domain.domain}
            badge={<Badge status={domain.verification_status} />}
            up={UP}
            actions={
              rights('domain:manage') && (
                <>
                  <Button kind="primary" icon="refresh" busy={busy} onClick={verify}>
                    {busy ? 'Checking DNS…' : 'Verify now'}
                  </Button>
                  <Manage domain={domain} refresh={renew} />
                </>
              )
            }
          >
            <InlineError error={error} />
            <Restricted domain={domain} />
            {verification && <Findings verification={verification} />}
            <Records domain={domain} records={verification?.records ?? domain.records} />
            <div className="columns">
              <ReputationCard id={id} />
              <div className="stack">
                <WarmUp domain={domain} />
                <Card title="Details">
                  <Facts
                    facts={[
                      ['Default', domain.is_default ? 'yes: used when a sender names no domain' : 'no'],
                      ['DKIM', domain.dkim_status ? <Badge status={domain.dkim_status} /> : 'none yet'],
                      ['Selector', domain.dkim_selector && <code>{domain.dkim_selector}</code>],
                      ['Verified', domain.verified_at && <Moment at={domain.verified_at} />],
                      ['Added', <Moment key="added" at={domain.created_at} />],
                      ['See', <Its key="its" id={id} />],
                      idFact(domain.id),
                    ]}
                  />
                </Card>
              </div>
            </div>
            <Dmarc id={id} />
          </Page>
        );
      }}
    </LoadedPage>
  );
}

/** Of an organization with very many domains, the filters of these pages offer only some. */
function Its({ id }: { id: string }) {
  const may = useMay();
  return (
    <>
      {may('email:read') && <Link href={`/emails?domain=${id}`}>its emails</Link>}
      {may('email:read') && may('stats:read') && ', '}
      {may('stats:read') && <Link href={`/statistics?domain=${id}`}>its statistics</Link>}
    </>
  );
}

function Restricted({ domain: { sending_status, sending_status_reason } }: { domain: Domain }) {
  if (sending_status === undefined) return null;
  return (
    <div className="notice bad">
      <div>
        <strong>
          {sending_status === 'paused' ? 'Sending from this domain is paused.' : 'Sending from this domain is slowed.'}
        </strong>
        <p>
          Cause: {CAUSES[sending_status_reason ?? ''] ?? 'unknown'}.{' '}
          {sending_status_reason === 'operator'
            ? 'Ask the operator of the service.'
            : 'It ends automatically after a day with good figures. The reputation below says what to do.'}
        </p>
      </div>
    </div>
  );
}

function Findings({ verification: { success, errors } }: { verification: DomainVerification }) {
  return (
    <div className={`notice ${errors.length === 0 ? 'good' : success ? 'warn' : 'bad'}`} role="status">
      <div>
        <strong>
          {errors.length === 0
            ? 'All records are correct.'
            : success
              ? 'The domain is verified, but something is missing.'
              : 'The domain is not verified.'}
        </strong>
        {errors.length > 0 && (
          <ul>
            {errors.map((sentence) => (
              <li key={sentence}>{sentence}</li>
            ))}
          </ul>
        )}
      </div>
    </div>
  );
}

type Asked = 'rotate' | 'default' | 'remove';

function Manage({ domain, refresh }: { domain: Domain; refresh: () => Promise<unknown> }) {
  const [asks, setAsks] = useState<Asked>();
  const rights = useRights();
  const removal = useRemoval();
  const toast = useToast();
  const close = () => setAsks(undefined);
  const act = async (path: string, said: string) => {
    await post(`/v1/domains/${domain.id}/${path}`);
    await refresh();
    toast(said);
  };
  const remove = () =>
    removal(del(`/v1/domains/${domain.id}`), {
      ...{ refresh: ['domains'], said: `${domain.domain} removed` },
      ...{ to: '/domains', gone: ['domain', 'reputation', 'dmarc'].map((name) => [name, domain.id]) },
    });
  return (
    <>
      <Button onClick={() => setAsks('rotate')}>Rotate DKIM key</Button>
      {!domain.is_default && rights('domain:manage', { allDomains: true }) && (
        <Button onClick={() => setAsks('default')}>Make default</Button>
      )}
      <Button kind="danger" onClick={() => setAsks('remove')}>
        Remove
      </Button>
      {asks === 'rotate' && (
        <Confirm
          title="Rotate the DKIM key?"
          action="Rotate"
          onConfirm={() => act('rotate-dkim', 'The new key is ready')}
          onClose={close}
        >
          <p>
            A new key is created. Mail is signed with it once its record is found in DNS, and with the old one until
            then. The old one stays valid for another 48 hours.
          </p>
        </Confirm>
      )}
      {asks === 'default' && (
        <Confirm
          title="Make this the default domain?"
          action="Make default"
          onConfirm={() => act('set-default', `${domain.domain} is now the default domain`)}
          onClose={close}
        >
          <p>
            Mail that names no sender domain leaves from <Foreign>{domain.domain}</Foreign> from now on.
          </p>
        </Confirm>
      )}
      {asks === 'remove' && (
        <Confirm
          title={`Remove ${domain.domain}?`}
          action="Remove the domain"
          typed={domain.domain}
          onConfirm={remove}
          onClose={close}
        >
          <p>
            No more mail is sent from it, and API keys bound to it are revoked. Its emails and statistics stay. This
            cannot be undone: if you add it again, it gets new records.
          </p>
        </Confirm>
      )}
    </>
  );
}
