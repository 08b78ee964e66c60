import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { Link, useParams } from 'wouter';
import { del, get, isMissing } from '../../api/client';
import { useMay } from '../../api/session';
import type { Data, Destination } from '../../api/types';
import { Button } from '../../parts/button';
import { useChange } from '../../parts/change';
import { adviceFor, DESTINATION_TONES } from '../../parts/destination-words';
import { Confirm } from '../../parts/dialog';
import { decoded } from '../../parts/filters';
import { count } from '../../parts/format';
import { type Column, Table } from '../../parts/list';
import { Card, Facts, Figures, Page } from '../../parts/page';
import { Empty, LoadedPage, Requires } from '../../parts/states';
import { Badge, Foreign, Moment, Time } from '../../parts/text';
import { LimitDialog, PauseDialog, ResumeDialog } from './destination-dialogs';
import { useOpenFigure } from './open-mail';

type Rule = Destination['rules'][number];

const UP = { to: '/destinations', name: 'Destinations' };
const SOURCES: Readonly<Record<string, string>> = {
  reply: 'learned from a reply',
  operator: 'an operator',
  profile: 'the profile of the provider',
};

export default function DestinationScreen() {
  const { key = '' } = useParams();
  // A group may be named by `@` and a domain.
  const name = decoded(key);
  return (
    <Requires scope="operator:read">
      <DestinationPage key={name} name={name} />
    </Requires>
  );
}

function DestinationPage({ name }: { name: string }) {
  const query = useQuery({
    queryKey: ['destination', name],
    queryFn: () => get<Data<Destination>>(`/operator/v1/destinations/${encodeURIComponent(name)}`),
    refetchInterval: ({ state }) => !isMissing(state.error) && 5_000,
  });
  return (
    <LoadedPage query={query} title={name} up={UP}>
      {({ data }) => <Shown destination={data} />}
    </LoadedPage>
  );
}

function Shown({ destination }: { destination: Destination }) {
  const may = useMay();
  const { key, state, active, maxConnections, ratePerMinute, lastHour, domains, mxHosts, lastResponse } = destination;
  const { why, what } = adviceFor(destination);
  const open = useOpenFigure(destination);
  return (
    <Page
      title={key}
      up={UP}
      badge={<Badge status={state} tone={DESTINATION_TONES[state]} />}
      actions={may('operator:manage') && <Actions destination={destination} />}
    >
      <section className={`notice ${DESTINATION_TONES[state]}`} aria-label="Why, and what to do">
        <div>
          <strong>
            <Foreign>{why}</Foreign>
          </strong>
          <p>{what}</p>
        </div>
      </section>
      <Figures
        figures={[
          open,
          {
            name: 'Connections',
            value: count(active),
            note: maxConnections === undefined ? 'no fixed limit' : `of ${count(maxConnections)} at most`,
          },
          {
            name: 'Mails a minute',
            value: ratePerMinute === undefined ? 'no limit' : count(ratePerMinute),
            note: ratePerMinute === undefined ? undefined : 'at most',
          },
          { name: 'Delivered', value: count(lastHour.delivered), note: 'last hour' },
          { name: 'Deferred', value: count(lastHour.deferred), note: 'last hour' },
          { name: 'Bounced', value: count(lastHour.bounced), note: 'last hour' },
        ]}
      />
      <Rules destination={destination} />
      <Card title="Details">
        <Facts
          facts={[
            ['Last reply', lastResponse && <span className="reply">{lastResponse}</span>],
            [
              'Mail exchangers',
              mxHosts.length > 0 ? <Foreign>{mxHosts.join(', ')}</Foreign> : 'none seen in the last hour',
            ],
            ['Until', destination.until && <Moment at={destination.until} />],
            ['Domains', domains.length > 0 && <Domains domains={domains} />],
          ]}
        />
      </Card>
    </Page>
  );
}

function Domains({ domains }: { domains: readonly string[] }) {
  return (
    <ul className="row">
      {domains.map((domain) => (
        <li key={domain}>
          <Link href={`/queue?by=destination&destination=${encodeURIComponent(domain)}`}>
            <Foreign>{domain}</Foreign>
            <span className="visually-hidden"> in the queue</span>
          </Link>
        </li>
      ))}
    </ul>
  );
}

type Asked = 'pause' | 'resume' | 'limit';

function Actions({ destination }: { destination: Destination }) {
  const [asks, setAsks] = useState<Asked>();
  const close = () => setAsks(undefined);
  const isStopped = destination.state === 'paused' || destination.state === 'probing';
  return (
    <>
      {isStopped ? (
        <Button kind="primary" onClick={() => setAsks('resume')}>
          Resume
        </Button>
      ) : (
        <Button kind="danger" onClick={() => setAsks('pause')}>
          Pause
        </Button>
      )}
      <Button onClick={() => setAsks('limit')}>Limit</Button>
      {asks === 'pause' && <PauseDialog destination={destination} onClose={close} />}
      {asks === 'resume' && <ResumeDialog destination={destination} onClose={close} />}
      {asks === 'limit' && <LimitDialog destination={destination} onClose={close} />}
    </>
  );
}

const COLUMNS: readonly Column<Rule>[] = [
  { name: 'Rule', look: 'wide', cell: ({ effect }) => <strong>{effect}</strong> },
  { name: 'From', look: 'soft', cell: ({ source }) => SOURCES[source] ?? source },
  { name: 'Cause', look: 'wide break soft', cell: ({ cause }) => <Foreign>{cause}</Foreign> },
  { name: 'Until', look: 'soft', cell: ({ until }) => (until ? <Time at={until} /> : 'removed') },
];

function Rules({ destination: { key, rules } }: { destination: Destination }) {
  const may = useMay();
  const [removes, setRemoves] = useState<Rule>();
  const actions: Column<Rule> = {
    name: 'Actions',
    isHidden: true,
    cell: (rule) =>
      rule.source === 'profile' ? (
        <span className="hint">part of the release</span>
      ) : (
        may('operator:manage') && (
          <Button small kind="danger" onClick={() => setRemoves(rule)} aria-label={`Remove the rule ${rule.effect}`}>
            Remove
          </Button>
        )
      ),
  };
  return (
    <Card title="Rules" flush>
      {rules.length === 0 ? (
        <Empty icon="destinations" title="No rules">
          Its replies decide how fast mail is sent to it.
        </Empty>
      ) : (
        <Table caption="Rules" columns={[...COLUMNS, actions]} rows={rules} keyOf={({ id }) => id} />
      )}
      {removes && <RemoveDialog name={key} rule={removes} onClose={() => setRemoves(undefined)} />}
    </Card>
  );
}

function RemoveDialog({ name, rule, onClose }: { name: string; rule: Rule; onClose: () => void }) {
  const change = useChange();
  return (
    <Confirm
      title={`Remove “${rule.effect}”?`}
      action="Remove the rule"
      onClose={onClose}
      onConfirm={() =>
        change(del(`/operator/v1/destinations/${encodeURIComponent(name)}/rules/${rule.id}`), {
          refresh: ['destination', 'destinations'],
          said: 'The rule is removed',
        })
      }
    >
      <p>
        Every worker drops it within 5 seconds. You can add it again
        {rule.source === 'reply' && ', and it is learned again if the server replies like that again'}.
      </p>
    </Confirm>
  );
}
