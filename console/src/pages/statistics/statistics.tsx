import type { Hour, StatsSummary } from '../../api/types';
import { Button } from '../../parts/button';
import { Chart, CHART_LINES } from '../../parts/chart';
import { toCsv, download } from '../../parts/csv';
import { domainOptions, useDomains } from '../../parts/domains';
import { SelectField } from '../../parts/field';
import { useFilters } from '../../parts/filters';
import { count, shareOf } from '../../parts/format';
import { Card, Figures, Page } from '../../parts/page';
import { Empty, Loaded, Requires } from '../../parts/states';
import { useHours, usePeriod, useSeries, useStats } from '../../parts/stats';
import { before, inSteps, type Period } from '../../parts/status-range';
import { ByDomain, ByProvider } from './breakdowns';

const RANGES = [
  { value: '24', label: 'Last 24 hours' },
  { value: '168', label: 'Last 7 days' },
  { value: '720', label: 'Last 30 days' },
  { value: '2160', label: 'Last 90 days' },
];
const DETAILS = [
  { value: '1', label: 'Hour' },
  { value: '6', label: '6 hours' },
  { value: '24', label: 'Day' },
];
type Stats = StatsSummary['stats'];

/** An address may hold anything. */
function chosen(options: readonly { readonly value: string }[], wanted: string): number | undefined {
  return options.some(({ value }) => value === wanted) ? Number(wanted) : undefined;
}

export default function Statistics() {
  return (
    <Requires scope="stats:read">
      <StatisticsPage />
    </Requires>
  );
}

function StatisticsPage() {
  const [{ range, domain, step }, change] = useFilters(['range', 'domain', 'step']);
  const hours = chosen(RANGES, range) ?? 168;
  const size = chosen(DETAILS, step) ?? (hours <= 24 ? 1 : hours <= 168 ? 6 : 24);
  const period = usePeriod(hours);
  const domains = useDomains();
  const hourly = useHours(period, domain);
  return (
    <Page
      title="Statistics"
      lead="Counted by the time of each event, in UTC hours, with the same figures as the API."
      actions={
        <Button
          icon="inbound"
          disabled={!hourly.data || hourly.isPlaceholderData}
          onClick={() => hourly.data && download('waybill-statistics.csv', csvOf(hourly.data, size))}
        >
          Export as CSV
        </Button>
      }
    >
      <div className="filters" role="group" aria-label="What is shown">
        <SelectField
          label="Period"
          value={String(hours)}
          options={RANGES}
          onChange={({ target }) => change({ range: target.value })}
        />
        {domains.data && (
          <SelectField
            label="Domain"
            value={domain}
            options={domainOptions(domains.data, 'All domains', undefined, domain)}
            onChange={({ target }) => change({ domain: target.value })}
          />
        )}
        <SelectField
          label="In steps of"
          value={String(size)}
          options={DETAILS}
          onChange={({ target }) => change({ step: target.value })}
        />
      </div>
      <Compared period={period} domain={domain} />
      <Card title="Over time">
        <Loaded query={hourly} lines={CHART_LINES}>
          {(all) => <OverTime hours={all} step={size} />}
        </Loaded>
      </Card>
      {domain === '' && <ByDomain period={period} />}
      <ByProvider period={period} domain={domain} />
    </Page>
  );
}

function OverTime({ hours, step }: { hours: readonly Hour[]; step: number }) {
  const { times, series, partial } = useSeries(hours as Hour[], step);
  if (hours.every(({ total, delivered, bounced }) => total + delivered + bounced === 0)) {
    return (
      <Empty icon="statistics" title="Nothing was sent in this period">
        Choose a longer period or another domain.
      </Empty>
    );
  }
  return (
    <Chart
      summary={`Recipients accepted, delivered, bounced and opened, by the time at which it happened (UTC).${
        partial.size > 0 ? ' The period begins or ends within a step, which is incomplete.' : ''
      }`}
      times={times}
      series={series}
      partial={partial}
    />
  );
}

/** Each figure beside that of the period before. */
function Compared({ period, domain }: { period: Period; domain: string }) {
  const now = useStats(period, domain);
  const then = useStats(before(period), domain);
  return (
    <Loaded query={now} figures={6}>
      {({ data: { stats } }) => {
        // Of the filter before, until those of the present one are there.
        const earlier = then.isPlaceholderData ? undefined : then.data?.data.stats;
        return (
          <Figures
            figures={[
              figure('Accepted', stats, earlier, 'total'),
              figure('Delivered', stats, earlier, 'delivered', shareOf(stats.deliveryRate, stats.total)),
              figure('Bounced', stats, earlier, 'bounced', shareOf(stats.bounceRate, stats.total)),
              figure('Opened', stats, earlier, 'opens', shareOf(stats.openRate, stats.delivered)),
              figure('Clicked', stats, earlier, 'clicks', shareOf(stats.clickRate, stats.delivered)),
              figure('Failed', stats, earlier, 'failed'),
            ]}
          />
        );
      }}
    </Loaded>
  );
}

function figure(
  name: string,
  now: Stats,
  then: Stats | undefined,
  field: 'total' | 'delivered' | 'bounced' | 'opens' | 'clicks' | 'failed',
  share = '',
) {
  const compared = then === undefined ? '' : `before: ${count(then[field])}`;
  return { name, value: count(now[field]), note: [share, compared].filter((text) => text !== '').join(' · ') };
}

function csvOf(hours: readonly Hour[], step: number): string {
  const rows = inSteps(hours, step).map(({ hour, total, sent, delivered, bounced, opens, clicks, hours: counted }) =>
    [hour, total, sent, delivered, bounced, opens, clicks, counted].map(String),
  );
  return toCsv([['time', 'accepted', 'sent', 'delivered', 'bounced', 'opens', 'clicks', 'hours'], ...rows]);
}
