import { useQuery } from '@tanstack/react-query';
import { get } from '../../api/client';
import { slowing } from '../../api/query-client';
import { useMay, useSession } from '../../api/session';
import type { Email, Pagination } from '../../api/types';
import { ButtonLink } from '../../parts/button';
import { Chart, CHART_LINES } from '../../parts/chart';
import { Segmented } from '../../parts/field';
import { useFilters } from '../../parts/filters';
import { count, shareOf } from '../../parts/format';
import { Card, Figures, Page } from '../../parts/page';
import { Empty, Loaded } from '../../parts/states';
import { useHours, usePeriod, useSeries, useStats } from '../../parts/stats';
import { Foreign, Time } from '../../parts/text';
import { Attention } from './attention';

const RANGES = [
  { value: '24', label: '24 hours' },
  { value: '168', label: '7 days' },
  { value: '720', label: '30 days' },
];
const STEPS: Readonly<Record<string, number>> = { '24': 1, '168': 6, '720': 24 };

export default function Overview() {
  const [{ range: wanted }, change] = useFilters(['range']);
  // An address may hold anything.
  const range = Object.hasOwn(STEPS, wanted) ? wanted : '24';
  const may = useMay();
  const { organization } = useSession();
  return (
    <Page
      title="Overview"
      lead={
        <>
          Is mail flowing for <Foreign>{organization?.name}</Foreign>?
        </>
      }
      actions={
        <Segmented label="Period" value={range} options={RANGES} onChange={(value) => change({ range: value })} />
      }
    >
      <Attention />
      {!may('stats:read') && !may('email:read') && <NothingSeen />}
      {may('stats:read') && <Flow hours={Number(range)} step={STEPS[range] ?? 1} />}
      {may('email:read') && <OnTheWay />}
    </Page>
  );
}

/** For a key that a program sends with. */
function NothingSeen() {
  const may = useMay();
  return (
    <Card>
      <Empty
        icon="keys"
        title="Your key can see neither mail nor statistics"
        action={may('email:send') && <ButtonLink to="/send">Send a test mail</ButtonLink>}
      >
        Sign in with a key that has <code>email:read</code> or <code>stats:read</code> to see what happens to mail.
      </Empty>
    </Card>
  );
}

function Flow({ hours, step }: { hours: number; step: number }) {
  const period = usePeriod(hours);
  const stats = useStats(period);
  const hourly = useHours(period);
  const { times, series, partial } = useSeries(hourly.data, step);
  const may = useMay();
  return (
    <>
      <Loaded query={stats} figures={5}>
        {({ data: { stats: now } }) => (
          <Figures
            figures={[
              { name: 'Accepted', value: count(now.total), note: 'recipients' },
              { name: 'Delivered', value: count(now.delivered), note: shareOf(now.deliveryRate, now.total) },
              { name: 'Bounced', value: count(now.bounced), note: shareOf(now.bounceRate, now.total) },
              { name: 'Opened', value: count(now.opens), note: shareOf(now.openRate, now.delivered) },
              { name: 'On their way', value: count(now.queued + now.sending), note: 'of this period' },
            ]}
          />
        )}
      </Loaded>
      <Card title="Over time">
        <Loaded query={hourly} lines={CHART_LINES}>
          {(all) =>
            all.every(({ total, delivered, bounced }) => total + delivered + bounced === 0) ? (
              <Empty
                icon="statistics"
                title="Nothing was sent in this period"
                action={may('email:send') && <ButtonLink to="/send">Send a test mail</ButtonLink>}
              >
                Sent mail appears here automatically.
              </Empty>
            ) : (
              <Chart summary={summaryOf(series)} times={times} series={series} partial={partial} />
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
  return `In all: ${sums.join(', ')}. Times are in UTC.`;
}

const OPEN = ['queued', 'sending', 'scheduled'] as const;
/** `sending` is all mail with an attempt that is not at its end, and has that status until the next attempt too. */
const NAMES = { queued: 'Waiting', sending: 'Attempted', scheduled: 'Scheduled' } as const;
const NOTES = { queued: undefined, sending: 'in progress or deferred', scheduled: undefined } as const;
const FRESH = slowing(10_000, 60_000);

/** The mail in progress, and the oldest waiting one. */
function OnTheWay() {
  const query = useQuery({ queryKey: ['on-the-way'], queryFn: readOpen, refetchInterval: FRESH });
  return (
    <Card title="On their way now">
      <Loaded query={query} figures={3}>
        {(open) => (
          <div className="stack">
            <Figures
              figures={open.map(({ status, total, oldest }) => ({
                name: NAMES[status],
                value: count(total),
                note: oldest ? (
                  <>
                    the oldest from <Time at={oldest.createdAt} />
                  </>
                ) : total === 0 ? (
                  'none'
                ) : (
                  NOTES[status]
                ),
              }))}
            />
            {open.every(({ total }) => total === 0) ? (
              <p className="soft">Nothing is waiting: all mail has been processed.</p>
            ) : (
              <div className="row">
                {open
                  .filter(({ total }) => total > 0)
                  .map(({ status }) => (
                    <ButtonLink key={status} to={`/emails?status=${status}`}>
                      {NAMES[status]} emails
                    </ButtonLink>
                  ))}
                <span className="soft">Each shows why it waits, until when, and what to do.</span>
              </div>
            )}
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
      // Only mail that waits for its turn may wait too long.
      if (status !== 'queued') return { status, total, oldest: undefined };
      const last = totalPages > 1 ? await get<EmailList>('/v1/emails', { status, limit: 1, page: totalPages }) : first;
      return { status, total, oldest: last.data[0] };
    }),
  );
}
