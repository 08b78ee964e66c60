import { emailBody } from '../harness/mail.mjs';
import { peakMemoryOf } from '../harness/usage.mjs';

const CONNECTIONS = 4;
const EMAILS = 100;
const REQUESTS = 10;

/** A hundred emails per request, compared with the same statements from a plain script on as many connections. */
export async function prepare(bench, settings) {
  const api = await bench.startProduct('api');
  const load = await bench.startHelper('http-load');
  const inserts = await bench.startHelper('direct-inserts', { connections: CONNECTIONS, tenant: bench.tenant });
  const batches = Array.from({ length: REQUESTS }, (_, request) =>
    Array.from({ length: EMAILS }, (_, index) => emailBody(request * EMAILS + index)),
  );
  const target = { port: api.port, path: '/v1/emails/batch', key: bench.tenant.key, connections: CONNECTIONS };
  const post = async (seconds) => {
    const bodies = batches.map((batch) => JSON.stringify(batch));
    const { count, ...more } = await load.call('run', { ...target, bodies, seconds });
    return { ...more, count: count * EMAILS };
  };
  const postgres = { tree: bench.postgresPid };
  return {
    name: `accept-batch (${CONNECTIONS} connections × ${EMAILS})`,
    unit: 'emails',
    contenders: [
      {
        name: 'same inserts',
        run: (seconds) => inserts.call('run', { bodies: batches[0], seconds }),
        processes: { script: inserts.pid, postgres },
      },
      { name: 'product', run: post, processes: { api: api.pid, postgres, load: load.pid } },
    ],
    targets: { 'same inserts': 0.5 },
    memory: () => ({ api: peakMemoryOf(api.pid) }),
    finish: () => Promise.all([api, load, inserts].map((process) => process.stop())),
  };
}
