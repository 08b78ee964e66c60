import { setTimeout as delay } from 'node:timers/promises';
import { emailBody } from '../harness/mail.mjs';
import { peakMemoryOf } from '../harness/usage.mjs';

const BODIES = 500;
const CONNECTIONS = 50;
/** Of all sends. */
const SAMPLED = '0.01';

/**
 * The cost of traces: from the request to the last committed result, with traces of one send in a hundred, compared with the
 * same without any. Both go through one worker, which adds its spans to what is sampled.
 */
export async function prepare(bench) {
  const bodies = Array.from({ length: BODIES }, (_, index) => JSON.stringify(emailBody(index)));
  const [sink, collector, load] = [
    await bench.startHelper('smtp-sink'),
    await bench.startHelper('otlp-sink'),
    await bench.startHelper('http-load'),
  ];
  const traces = {
    OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${collector.started.port}`,
    OTEL_TRACES_SAMPLER: 'parentbased_traceidratio',
    OTEL_TRACES_SAMPLER_ARG: SAMPLED,
  };
  const relay = { DELIVERY_MODE: 'relay', RELAY_URL: `smtp://127.0.0.1:${sink.started.port}` };
  const off = await bench.startProduct('api');
  const on = await bench.startProduct('api', traces);
  const worker = await bench.startProduct('worker', { ...relay, ...traces });
  const through = (api) => ({
    run: async (seconds) => {
      await sink.call('reset');
      const begin = performance.now();
      const request = { port: api.port, path: '/v1/emails', key: bench.tenant.key, bodies, connections: CONNECTIONS };
      const { count, p99 } = await load.call('run', { ...request, seconds });
      await sink.call('waitFor', { count });
      await emptyQueue(bench.database);
      return { count, seconds: (performance.now() - begin) / 1_000, p99 };
    },
    processes: { api: api.pid, worker: worker.pid, postgres: { tree: bench.postgresPid }, sink: sink.pid },
  });
  return {
    name: `traces of ${Number(SAMPLED) * 100} % of all sends`,
    unit: 'mails',
    contenders: [
      { name: 'no traces', ...through(off) },
      { name: 'product', ...through(on) },
    ],
    targets: { 'no traces': 0.97 },
    memory: () => ({ off: peakMemoryOf(off.pid), on: peakMemoryOf(on.pid), worker: peakMemoryOf(worker.pid) }),
    finish: () => Promise.all([worker, on, off, load, collector, sink].map((process) => process.stop())),
  };
}

async function emptyQueue(database) {
  for (;;) {
    const { rows } = await database.query('select exists (select from deliveries) as open');
    if (!rows[0].open) return;
    await delay(2);
  }
}
