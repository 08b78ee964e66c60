import { generateKeyPairSync } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { emailBody } from '../harness/mail.mjs';
import { peakMemoryOf } from '../harness/usage.mjs';

const BODIES = 500;
const BATCH = 100;
const CONNECTIONS = 50;
const BATCH_CONNECTIONS = 4;

/**
 * From the request to the last committed result: api, worker and Postgres at once, compared with Nodemailer's pool, which
 * accepts nothing and keeps nothing. The time runs from the first request until the queue is empty.
 */
export async function prepare(bench) {
  const bodies = Array.from({ length: BODIES }, (_, index) => emailBody(index));
  const privateKey = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey.export({
    type: 'pkcs8',
    format: 'pem',
  });
  const sink = await bench.startHelper('smtp-sink');
  const { port } = sink.started;
  const nodemailer = await bench.startHelper('nodemailer-pool', { port, privateKey });
  const load = await bench.startHelper('http-load');
  const api = await bench.startProduct('api');
  const worker = await bench.startProduct('worker', {
    DELIVERY_MODE: 'relay',
    RELAY_URL: `smtp://127.0.0.1:${port}`,
  });
  const post = { port: api.port, key: bench.tenant.key };
  const single = { ...post, path: '/v1/emails', bodies: bodies.map(toJson), connections: CONNECTIONS };
  const batches = Array.from({ length: BODIES / BATCH }, (_, at) => bodies.slice(at * BATCH, (at + 1) * BATCH));
  const batch = { ...post, path: '/v1/emails/batch', bodies: batches.map(toJson), connections: BATCH_CONNECTIONS };
  const processes = { api: api.pid, worker: worker.pid, postgres: { tree: bench.postgresPid }, sink: sink.pid };
  const through = (request, perRequest) => async (seconds) => {
    await sink.call('reset');
    const begin = performance.now();
    const { count, p99 } = await load.call('run', { ...request, seconds });
    await sink.call('waitFor', { count: count * perRequest });
    await emptyQueue(bench.database);
    return { count: count * perRequest, seconds: (performance.now() - begin) / 1_000, p99 };
  };
  return {
    name: 'end-to-end',
    unit: 'mails',
    contenders: [
      {
        name: 'Nodemailer pool',
        run: (seconds) => nodemailer.call('run', { bodies, seconds }),
        processes: { script: nodemailer.pid, sink: sink.pid },
      },
      { name: `in batches of ${BATCH}`, run: through(batch, BATCH), processes },
      { name: 'product', run: through(single, 1), processes },
    ],
    targets: { 'Nodemailer pool': 1, [`in batches of ${BATCH}`]: 0.6 },
    memory: () => ({ api: peakMemoryOf(api.pid), worker: peakMemoryOf(worker.pid) }),
    finish: () => Promise.all([worker, api, load, nodemailer, sink].map((process) => process.stop())),
  };
}

function toJson(value) {
  return JSON.stringify(value);
}

async function emptyQueue(database) {
  for (;;) {
    const { rows } = await database.query('select exists (select from deliveries) as open');
    if (!rows[0].open) return;
    await delay(2);
  }
}
