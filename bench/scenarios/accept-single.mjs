import { emailBody } from '../harness/mail.mjs';
import { peakMemoryOf } from '../harness/usage.mjs';

const CONNECTIONS = 50;
const BODIES = 1_000;

/** One email per request, each returned after its commit, compared with a route that stops before the database. */
export async function prepare(bench) {
  const api = await bench.startProduct('api');
  const floor = await bench.startHelper('floor-api');
  const load = await bench.startHelper('http-load');
  const bodies = Array.from({ length: BODIES }, (_, index) => JSON.stringify(emailBody(index)));
  const post = (port, path) => (seconds) =>
    load.call('run', { port, path, key: bench.tenant.key, bodies, connections: CONNECTIONS, seconds });
  return {
    name: `accept-single (${CONNECTIONS} connections)`,
    unit: 'emails',
    contenders: [
      {
        name: 'validate only',
        run: post(floor.started.port, '/v1/emails'),
        processes: { api: floor.pid, load: load.pid },
      },
      {
        name: 'product',
        run: post(api.port, '/v1/emails'),
        processes: { api: api.pid, postgres: { tree: bench.postgresPid }, load: load.pid },
      },
    ],
    targets: { 'validate only': 0.65 },
    memory: () => ({ api: peakMemoryOf(api.pid) }),
    finish: () => Promise.all([api, floor, load].map((process) => process.stop())),
  };
}
