import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { get } from '../../api/client';
import type { Data, StatsByDomain, Hour, StatsSummary } from '../../api/types';
import { Button } from '../../parts/button';
import { Chart } from '../../parts/chart';
import { toCsv, download } from '../../parts/csv';
import { domainOptions, useDomains } from '../../parts/domains';
import { SelectField } from '../../parts/field';
import { useFilters } from '../../parts/filters';
import { count, percent } from '../../parts/format';
import { Card, Figures, Page } from '../../parts/page';
import { Empty, Loaded, Requires } from '../../parts/states';
import { FRESH, useHours, usePeriod, useSeries, useStats } from '../../parts/stats';
import { before, inSteps, type Period } from '../../parts/status-range';
import { ByProvider } from './by-provider';
import { Foreign } from '../../parts/text';

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
      lead="Counted by when it happened, in UTC hours, from the same figures as the API."
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
        <Loaded query={hourly}>{(all) => <OverTime hours={all} step={size} />}</Loaded>
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
      <Empty icon="statistics" title="Nothing was sent in this time">
        Choose a longer period, or another domain.
      </Empty>
    );
  }
  return (
    <Chart
      summary={`Recipients accepted, delivered, bounced and opened, by the time at which it happened (UTC).${
        partial.size > 0 ? ' The period begins or ends within a step: that one is in part.' : ''
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
    <Loaded query={now} lines={2}>
      {({ data: { stats } }) => {
        // Of the filter before, until those of the present one are there.
        const earlier = then.isPlaceholderData ? undefined : then.data?.data.stats;
        return (
          <Figures
            figures={[
              figure('Accepted', stats, earlier, 'total'),
              figure('Delivered', stats, earlier, 'delivered', stats.deliveryRate),
              figure('Bounced', stats, earlier, 'bounced', stats.bounceRate),
              figure('Opened', stats, earlier, 'opens', stats.openRate),
              figure('Clicked', stats, earlier, 'clicks', stats.clickRate),
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
  rate?: number,
) {
  const share = rate === undefined ? '' : percent(rate);
  const compared = then === undefined ? '' : `before: ${count(then[field])}`;
  return { name, value: count(now[field]), note: [share, compared].filter((text) => text !== '').join(' · ') };
}

function ByDomain({ period: { from, to } }: { period: Period }) {
  const query = useQuery({
    queryKey: ['domain-stats', from, to],
    queryFn: () => get<Data<StatsByDomain>>('/v1/stats/domains', { start_date: from, end_date: to }),
    placeholderData: keepPreviousData,
    refetchInterval: FRESH,
  });
  return (
    <Card title="By domain" flush>
      <Loaded query={query}>
        {({ data: { domains } }) =>
          domains.length === 0 ? (
            <Empty icon="domains" title="No domain has sent in this time" />
          ) : (
            <section className="table-wrap" aria-label="Figures by domain" tabIndex={0}>
              <table>
                <thead>
                  <tr>
                    <th scope="col">Domain</th>
                    {['Accepted', 'Delivered', 'Rate', 'Bounced', 'Rate', 'Opened', 'Clicked'].map((name, index) => (
                      <th key={index} scope="col" className="number">
                        {name}
                      </th>
                    ))}
                  </tr>
                </thead>
                <tbody>
                  {domains.map((row) => (
                    <tr key={row.domain}>
                      <th scope="row">
                        <Foreign>{row.domain}</Foreign>
                      </th>
                      <td className="number">{count(row.total)}</td>
                      <td className="number">{count(row.delivered)}</td>
                      <td className="number">{percent(row.deliveryRate)}</td>
                      <td className="number">{count(row.bounced)}</td>
                      <td className="number">{percent(row.bounceRate)}</td>
                      <td className="number">{count(row.opens)}</td>
                      <td className="number">{count(row.clicks)}</td>
                    </tr>
                  ))}
                </tbody>
              </table>
            </section>
          )
        }
      </Loaded>
    </Card>
  );
}

function csvOf(hours: readonly Hour[], step: number): string {
  const rows = inSteps(hours, step).map(({ hour, total, sent, delivered, bounced, opens, clicks, hours: counted }) =>
    [hour, total, sent, delivered, bounced, opens, clicks, counted].map(String),
  );
  return toCsv([['time', 'accepted', 'sent', 'delivered', 'bounced', 'opens', 'clicks', 'hours'], ...rows]);
}
