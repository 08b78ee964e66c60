import { emailBody } from '../harness/mail.mjs';
import { peakMemoryOf } from '../harness/usage.mjs';

const CONNECTIONS = 50;
const BODIES = 1_000;

/** Everything that accepting does before the database, compared with a stock Nest application on the same body. */
export async function prepare(bench) {
  const stock = await bench.startHelper('stock-express');
  const api = await bench.startHelper('floor-api');
  const load = await bench.startHelper('http-load');
  const bodies = Array.from({ length: BODIES }, (_, index) => JSON.stringify(emailBody(index)));
  const post = (port, path) => (seconds) =>
    load.call('run', { port, path, key: bench.tenant.key, bodies, connections: CONNECTIONS, seconds });
  return {
    name: `parse-only (${CONNECTIONS} connections)`,
    unit: 'requests',
    contenders: [
      {
        name: 'stock Nest + Express',
        run: post(stock.started.port, '/v1/emails'),
        processes: { api: stock.pid, load: load.pid },
      },
      {
        name: 'product',
        run: post(api.started.port, '/v1/emails'),
        processes: { api: api.pid, load: load.pid },
      },
    ],
    targets: { 'stock Nest + Express': 1.8 },
    memory: () => ({ api: peakMemoryOf(api.pid) }),
    finish: () => Promise.all([stock, api, load].map((process) => process.stop())),
  };
}
