import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { get } from '../../api/client';
import { useMay, useSession } from '../../api/session';
import type { Data, Domain, Email, Pagination, Webhook } from '../../api/types';
import { ButtonLink } from '../../parts/button';
import { Chart } from '../../parts/chart';
import { Segmented } from '../../parts/field';
import { count, percent, plural } from '../../parts/format';
import { Card, Figures, Page } from '../../parts/page';
import { Empty, Loaded } from '../../parts/states';
import { useHours, useSeries, useStats } from '../../parts/stats';
import { lastHours } from '../../parts/status-range';
import { Time } from '../../parts/text';

const RANGES = [
  { value: '24', label: '24 hours' },
  { value: '168', label: '7 days' },
  { value: '720', label: '30 days' },
];
const STEPS: Readonly<Record<string, number>> = { '24': 1, '168': 6, '720': 24 };

export default function Overview() {
  const [range, setRange] = useState('24');
  const may = useMay();
  const { organization } = useSession();
  return (
    <Page
      title="Overview"
      lead={
        <>
          Is mail flowing for <bdi>{organization?.name}</bdi>?
        </>
      }
      actions={<Segmented label="Period" value={range} options={RANGES} onChange={setRange} />}
    >
      <Attention />
      {may('stats:read') && <Flow hours={Number(range)} step={STEPS[range] ?? 1} />}
      {may('email:read') && <OnTheWay />}
    </Page>
  );
}

function Flow({ hours, step }: { hours: number; step: number }) {
  const period = lastHours(hours);
  const stats = useStats(period);
  const hourly = useHours(period);
  const { times, series } = useSeries(hourly.data, step);
  return (
    <>
      <Loaded query={stats} lines={2}>
        {({ data: { stats: now } }) => (
          <Figures
            figures={[
              { name: 'Accepted', value: count(now.total), note: 'recipients' },
              { name: 'Delivered', value: count(now.delivered), note: percent(now.deliveryRate) },
              { name: 'Bounced', value: count(now.bounced), note: percent(now.bounceRate) },
              { name: 'Opened', value: count(now.opens), note: percent(now.openRate) },
              { name: 'On their way', value: count(now.queued + now.sending), note: 'of this period' },
            ]}
          />
        )}
      </Loaded>
      <Card title="Over time">
        <Loaded query={hourly}>
          {(all) =>
            all.every(({ total, delivered, bounced }) => total + delivered + bounced === 0) ? (
              <Empty icon="statistics" title="Nothing was sent in this time">
                What is sent shows up here within seconds.
              </Empty>
            ) : (
              <Chart summary={summaryOf(series)} times={times} series={series} />
            )
          }
        </Loaded>
      </Card>
    </>
  );
}

function summaryOf(series: readonly { name: string; values: readonly number[] }[]): string {
  const sums = series.map(
    ({ name, values }) => `${name.toLowerCase()} ${count(values.reduce((sum, value) => sum + value, 0))}`,
  );
  return `In all: ${sums.join(', ')}.`;
}

interface Concern {
  readonly key: string;
  readonly tone: 'warn' | 'bad';
  readonly text: ReactNode;
  readonly to: string;
  readonly action: string;
}

/** What somebody has to do something about, each with the way to it. */
function Attention() {
  const may = useMay();
  const domains = useQuery({
    queryKey: ['domains'],
    queryFn: () => get<Data<Domain[]>>('/v1/domains'),
    enabled: may('domain:read'),
    refetchInterval: 60_000,
  });
  const webhooks = useQuery({
    queryKey: ['webhooks'],
    queryFn: () => get<Data<Webhook[]>>('/v1/webhooks'),
    enabled: may('webhook:read'),
    refetchInterval: 60_000,
  });
  const concerns = [
    ...(domains.data?.data ?? []).flatMap(concernsOf),
    ...(webhooks.data?.data ?? []).flatMap(concernOfWebhook),
  ];
  if (domains.data?.data.length === 0) concerns.push(noDomain());
  if (concerns.length === 0) return null;
  return (
    <section className="stack" aria-label="What needs attention">
      {concerns.map(({ key, tone, text, to, action }) => (
        <div key={key} className={`notice ${tone}`}>
          <div>{text}</div>
          <ButtonLink to={to}>{action}</ButtonLink>
        </div>
      ))}
    </section>
  );
}

function noDomain(): Concern {
  return {
    key: 'none',
    tone: 'warn',
    text: 'No domain is registered yet: mail needs one to be sent from.',
    to: '/domains',
    action: 'Add a domain',
  };
}

function concernsOf(domain: Domain): Concern[] {
  const { id, verification_status, dkim_status, warming_status, sending_status, sending_status_reason } = domain;
  const name = (
    <strong>
      <bdi>{domain.domain}</bdi>
    </strong>
  );
  const to = `/domains/${id}`;
  const concerns: Concern[] = [];
  const add = (key: string, tone: Concern['tone'], text: ReactNode, action: string) =>
    concerns.push({ key: `${id}-${key}`, tone, text, to, action });
  if (sending_status !== undefined) {
    const what = sending_status === 'paused' ? 'may not send' : 'may send less than usual';
    add(
      'restricted',
      'bad',
      <>
        {name} {what}, because of {sending_status_reason ?? 'a decision of the operator'}.
      </>,
      'See why',
    );
  }
  if (verification_status === 'failed')
    add('failed', 'bad', <>{name} is not verified any more: its ownership record is gone.</>, 'See the records');
  if (verification_status === 'pending') add('pending', 'warn', <>{name} is not verified yet.</>, 'See the records');
  if (verification_status === 'verified' && dkim_status === 'failed')
    add('dkim', 'bad', <>{name} has no DKIM record: its mail is likely to be taken for spam.</>, 'See the records');
  if (warming_status === 'paused')
    add('warming', 'warn', <>The warm-up of {name} is paused, because of bounces or complaints.</>, 'See why');
  return concerns;
}

function concernOfWebhook({ id, url, enabled, disabledReason, failingSince }: Webhook): Concern[] {
  const name = (
    <strong className="break">
      <bdi>{url}</bdi>
    </strong>
  );
  const to = `/webhooks/${id}`;
  if (!enabled && disabledReason !== undefined && disabledReason !== 'request') {
    return [
      {
        key: id,
        tone: 'bad',
        text: (
          <>
            The webhook {name} is disabled: {disabledReason === 'gone' ? 'it answered 410' : 'it failed for five days'}.
          </>
        ),
        to,
        action: 'See its deliveries',
      },
    ];
  }
  if (enabled && failingSince !== undefined) {
    return [
      {
        key: id,
        tone: 'warn',
        text: (
          <>
            The webhook {name} fails since <Time at={failingSince} />.
          </>
        ),
        to,
        action: 'See its deliveries',
      },
    ];
  }
  return [];
}

const OPEN = ['queued', 'sending', 'scheduled'] as const;

/** What is on its way now, and what has waited longest. */
function OnTheWay() {
  const query = useQuery({ queryKey: ['on-the-way'], queryFn: readOpen, refetchInterval: 5_000 });
  return (
    <Card title="On their way now">
      <Loaded query={query} lines={2}>
        {(open) => (
          <div className="stack">
            <Figures
              figures={open.map(({ status, total, oldest }) => ({
                name: { queued: 'Waiting', sending: 'Being sent', scheduled: 'Scheduled' }[status],
                value: count(total),
                note: oldest ? (
                  <>
                    the oldest from <Time at={oldest.createdAt} />
                  </>
                ) : (
                  'none'
                ),
              }))}
            />
            <div className="row">
              <ButtonLink to="/emails?status=queued">Waiting emails</ButtonLink>
              <span className="soft">Each says why it waits, and until when.</span>
              {open.every(({ total }) => total === 0) && (
                <span className="badge good">{plural(0, 'email')} waiting</span>
              )}
            </div>
          </div>
        )}
      </Loaded>
    </Card>
  );
}

interface EmailList {
  readonly data: readonly Email[];
  readonly pagination: Pagination;
}

async function readOpen() {
  return Promise.all(
    OPEN.map(async (status) => {
      const first = await get<EmailList>('/v1/emails', { status, limit: 1 });
      const { total, totalPages } = first.pagination;
      const last = totalPages > 1 ? await get<EmailList>('/v1/emails', { status, limit: 1, page: totalPages }) : first;
      return { status, total, oldest: last.data[0] };
    }),
  );
}
