import { TenantFactory } from '../../e2e/kit/tenant';
import { type Family, problemsOf } from '../../setup/exposition';
import { readExpression } from '../../setup/promql';
import { createTestDatabase, type TestDatabase } from '../../setup/test-database';
import { waitFor } from '../../setup/wait-for';
import {
  jobsNamedInDocs,
  metricsNamedInDocs,
  partsOf,
  readAlerts,
  readBoards,
  readQueries,
  readRunbooks,
  readSeries,
  type Series,
} from './deploy-files';
import { lines, type RunningProcess, startProcess } from './service';

const LOGGING = { LOG_LEVEL: 'debug', LOG_DELIVERIES: 'true' };

let database: TestDatabase;
let service: RunningProcess;
let atStart: Family[];
let key: string;

beforeAll(async () => {
  database = await createTestDatabase();
  service = await startProcess(database.url, 'all', {
    ...LOGGING,
    DATABASE_URL: database.url,
    DATABASE_READ_URL: database.url,
  });
  atStart = await service.scrape();
  const factory = await TenantFactory.open(database.url);
  key = (await factory.create()).testKey;
  await factory.close();
});
afterAll(async () => {
  await service.close();
  await database.drop();
});

const samples = (families: readonly Family[], name: string) =>
  families.flatMap((family) => family.samples).filter((sample) => sample.name === name);

async function send(to: string): Promise<string> {
  const response = await fetch(`http://127.0.0.1:${service.port}/v1/emails`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ from: 'app@acme.example', to: [to], subject: 'Hello', text: 'Hello' }),
  });
  expect(response.status).toBe(202);
  return ((await response.json()) as { data: { id: string } }).data.id;
}

describe('the metrics of a process', () => {
  it('follow the conventions, from the first scrape on', () => {
    expect(problemsOf(atStart)).toEqual([]);
    expect(atStart.length).toBeGreaterThan(60);
    const of = (name: string) => atStart.find((family) => family.name === name)?.type;
    expect([of('process_cpu_seconds_total'), of('nodejs_eventloop_lag_p99_seconds')]).toEqual(['counter', 'gauge']);
    expect(samples(atStart, 'waybill_build_info')).toEqual([
      {
        name: 'waybill_build_info',
        labels: { version: expect.stringMatching(/^\d+\.\d+\.\d+/), commit: expect.stringMatching(/^([0-9a-f]{40}|unknown)$/) },
        value: 1,
      },
    ]); // prettier-ignore
  });

  it('have counters that begin at 0, and no gauge before its value is known', () => {
    for (const outcome of ['delivered', 'deferred', 'bounced', 'failed']) {
      expect(samples(atStart, 'waybill_deliveries_total')).toContainEqual(
        expect.objectContaining({ labels: { outcome }, value: 0 }),
      );
    }
    expect(samples(atStart, 'waybill_outdated_results_total')).toHaveLength(1);
    expect(samples(atStart, 'waybill_stats_drift')).toEqual([]);
    const states = samples(atStart, 'waybill_database_pool_connections').map(({ labels }) => labels.state);
    expect(states).toEqual(['used', 'idle']);
  });

  it('show what was accepted, how long it took and what failed', async () => {
    await send('someone@simulator.waybill.test');
    await send('bounced@simulator.waybill.test');
    const now = await waitFor(
      async () => {
        const families = await service.scrape();
        const ended = samples(families, 'waybill_deliveries_total').reduce((sum, { value }) => sum + value, 0);
        return ended >= 2 && families;
      },
      { what: 'both deliveries to be settled' },
    );
    expect(samples(now, 'waybill_emails_accepted_total')).toEqual([
      expect.objectContaining({ labels: { mode: 'live' }, value: 0 }),
      expect.objectContaining({ labels: { mode: 'test' }, value: 2 }),
    ]);
    const counted = samples(now, 'waybill_delivery_duration_seconds_count');
    expect(counted).toContainEqual(expect.objectContaining({ labels: { mode: 'test' }, value: 1 }));
    const failures = samples(now, 'waybill_delivery_failures_total').filter(({ value }) => value > 0);
    expect(failures).toEqual([expect.objectContaining({ labels: expect.objectContaining({ outcome: 'bounced' }) })]);
    expect(problemsOf(now)).toEqual([]);
    // Nothing here was live: what an alert reads has not moved.
    for (const name of ['waybill_live_deliveries_total', 'waybill_live_delivery_failures_total']) {
      const values = samples(now, name).map(({ value }) => value);
      expect([name, new Set(values)]).toEqual([name, new Set([0])]);
    }
  });

  it('show the installation in one process only, so that a sum is right', async () => {
    const other = await startProcess(database.url, 'worker', LOGGING);
    try {
      const both = await waitFor(
        async () => {
          const families = [await service.scrape(), await other.scrape()].flat();
          for (const name of ['waybill_workers', 'waybill_queue_oldest_ready_seconds', 'waybill_domains_due']) {
            expect(samples(families, name)).toHaveLength(1);
          }
          return samples(families, 'waybill_workers')[0]?.value === 2 && families;
        },
        { what: 'both workers to be counted' },
      );
      const states = samples(both, 'waybill_queue_deliveries').map(({ labels }) => labels.state);
      expect(states).toEqual([...new Set(states)]);
      expect(states).toContain('ready');
    } finally {
      await other.close();
    }
  });
});

describe('the log', () => {
  const linesOf = (msg: string, emailId: string) =>
    lines.filter((line) => line.msg === msg && line.emailId === emailId);

  it('has each attempt at debug and each end at info, without an address', async () => {
    const id = await send('soft-bounced@simulator.waybill.test');
    const common = { context: 'Delivery', emailId: id, position: 0, mode: 'test', attemptMs: expect.any(Number) };
    await waitFor(() => linesOf('delivery ended', id).length > 0, { what: 'the end' });
    const attempts = linesOf('delivery attempt', id);
    expect(attempts).toEqual([
      expect.objectContaining({ ...common, level: 'debug', attempt: 1, outcome: 'deferred', class: expect.any(String) }),
      expect.objectContaining({ ...common, level: 'debug', attempt: 2, outcome: 'deferred' }),
      expect.objectContaining({ ...common, level: 'debug', attempt: 3, outcome: expect.not.stringMatching('deferred') }),
    ]); // prettier-ignore
    expect(linesOf('delivery ended', id)).toEqual([{ ...attempts[2], level: 'info', msg: 'delivery ended', time: expect.any(String) }]); // prettier-ignore
    expect(attempts[0]?.nextAttemptAt).toEqual(expect.any(String));
    expect(JSON.stringify([...attempts, ...linesOf('delivery ended', id)])).not.toContain('@');
  });

  it('has one path for requests without a route', async () => {
    await fetch(`http://127.0.0.1:${service.port}/v1/emial?to=jane@example.com`);
    await waitFor(() => lines.some(({ path }) => path === '/v1/emial'), { what: 'the line of the request' });
    expect(JSON.stringify(lines.filter(({ path }) => path !== undefined))).not.toContain('jane');
  });
});

/** A process without EGRESS_POOLS has none. */
const WITH_POOLS = ['waybill_egress_warm_up_day'];
/** What Prometheus adds to what it scrapes. */
const OF_PROMETHEUS = ['instance', 'job'];
/** Labels whose values come from requests and are not all seen here. */
const OPEN_LABELS = ['status', 'route', 'method', 'job_name', 'disposition'];

/** What a figure may be shown in, by its expression. */
function unitsOf({ expr }: Series): string[] {
  const plain = ['short', 'none', ''];
  if (/^histogram_quantile|^time\(\)/.test(expr)) return ['s'];
  if (/ \/ /.test(expr)) return expr.includes('batch_size') ? plain : ['percentunit'];
  if (expr.includes('process_cpu_seconds_total')) return plain;
  if (/\brate\(/.test(expr)) return [expr.includes('http_request') ? 'reqps' : 'suffix:/s'];
  if (/\bincrease\(/.test(expr)) return plain;
  if (/_seconds\b/.test(expr)) return ['s'];
  return /_bytes\b/.test(expr) ? ['bytes'] : plain;
}

describe('the dashboards and alerts', () => {
  const alerts = readAlerts();

  it.each(readQueries())('%s: %s', async (_where, query) => {
    const families = await service.scrape();
    const { selectors, grouping } = readExpression(query);
    const known = selectors.map(({ metric, matchers }) => {
      const family = families.find(({ name, type }) => partsOf(name, type).includes(metric));
      if (!family) throw new Error(`No process has the metric ${metric}`);
      const labels = [...labelsOf(family), ...(family.type === 'histogram' ? ['le'] : []), ...OF_PROMETHEUS];
      for (const { label, operator, value } of matchers) {
        expect([metric, labels]).toEqual([metric, expect.arrayContaining([label])]);
        const seen = family.samples.map((sample) => sample.labels[label]);
        const isOpen = OPEN_LABELS.includes(label) || OF_PROMETHEUS.includes(label);
        if (operator === '=' && !isOpen) expect([metric, seen]).toEqual([metric, expect.arrayContaining([value])]);
      }
      return labels;
    });
    expect(known.length).toBeGreaterThan(0);
    for (const labels of known) expect(labels).toEqual(expect.arrayContaining(grouping));
  });

  it('have a section of the runbooks each, with what it means, how to see why, what to do and when it is over', () => {
    const sections = readRunbooks();
    expect([...sections.keys()]).toEqual(alerts.map(({ alert }) => alert));
    for (const { alert, annotations } of alerts) {
      expect(annotations.runbook_url).toBe(`docs/runbooks.md#${alert.toLowerCase()}`);
      const text = sections.get(alert) ?? '';
      for (const part of ['**Meaning.**', '**See why.**', '**Do.**', '**Over when**']) expect(text).toContain(part);
    }
  });

  it('wake nobody but for what an operator can end, which one tenant or one receiver does not cause', () => {
    const of = (severity: string) => readAlerts().filter(({ labels }) => labels.severity === severity);
    expect(of('critical').map(({ alert }) => alert.replace('Waybill', ''))).toEqual([
      ...['NoWorkers', 'QueueUnknown', 'BlockListed', 'NothingAuthenticated', 'ApiErrors'],
      ...['CertificateEnds', 'ClockWrong', 'DiskLow'],
    ]);
    expect(of('critical').length + of('warning').length + of('info').length).toBe(readAlerts().length);
  });

  it('judge deliveries by those of live mail: simulated bounces are no reason to wake anyone', () => {
    const mixed = /\bwaybill_(deliveries|delivery_failures)_total\b/;
    expect(readQueries().filter(([, query]) => mixed.test(query))).toEqual([]);
  });

  it('name labels that their series have, in legends and in what an alert says', async () => {
    const families = await service.scrape();
    const texts = [
      ...readSeries().map(({ where, expr, legend }) => ({
        where,
        expr,
        named: [...legend.matchAll(/{{(\w+)}}/g)].map(([, label = '']) => label),
      })),
      ...alerts.map(({ alert, expr, annotations }) => ({
        where: alert,
        expr,
        named: [...annotations.summary.matchAll(/\$labels\.(\w+)/g)].map(([, label = '']) => label),
      })),
    ];
    const missing = texts.flatMap(({ where, expr, named }) => {
      const { selectors, grouping } = readExpression(expr);
      const isAggregated = /\b(sum|max|min|count|topk)\b/.test(expr);
      const own = selectors.flatMap(({ metric }) =>
        families.filter(({ name, type }) => partsOf(name, type).includes(metric)).flatMap(labelsOf),
      );
      const has = isAggregated ? grouping : [...own, ...OF_PROMETHEUS];
      return named.filter((label) => !has.includes(label)).map((label) => `${where}: ${label}`);
    });
    expect(texts.filter(({ named }) => named.length > 0).length).toBeGreaterThan(30);
    expect(missing).toEqual([]);
  });

  it('show each figure in its unit, and a clock that is behind as well', () => {
    const wrong = readSeries().filter((series) => !unitsOf(series).includes(series.unit));
    expect(wrong.map(({ where, unit, expr }) => `${where}: ${unit}: ${expr}`)).toEqual([]);
    const clock = readSeries().filter(({ expr }) => expr.includes('waybill_clock_offset_seconds'));
    expect(clock.map(({ min }) => min)).toEqual([undefined]);
  });

  it('use every variable that a board has, and no other', () => {
    for (const { file, templating, ...board } of readBoards()) {
      const known = templating.list.map(({ name }) => name).sort();
      const used = [...JSON.stringify(board).matchAll(/\$\{?([a-z]\w*)/g)].map(([, name = '']) => name);
      expect([file, [...new Set(used)].sort()]).toEqual([file, known]);
    }
  });

  it('and the pages name no metric and no job that does not exist', async () => {
    const names = (await service.scrape()).flatMap(({ name, type }) => partsOf(name, type));
    const known = new Set([...names, ...WITH_POOLS]);
    expect(metricsNamedInDocs().filter(({ metric }) => !known.has(metric))).toEqual([]);
    const runs = await service.metrics.registry.getSingleMetricAsString('waybill_job_runs_total');
    expect(jobsNamedInDocs().length).toBeGreaterThan(1);
    expect(jobsNamedInDocs().filter((job) => !runs.includes(`job_name="${job}"`))).toEqual([]);
  });

  const labelsOf = ({ name }: Family): string[] => {
    const metric = service.metrics.registry.getSingleMetric(name) as { labelNames?: string[] } | undefined;
    return metric?.labelNames ?? [];
  };
});
