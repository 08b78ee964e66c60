import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import { waitFor } from '../../../test/setup/wait-for';
import { DkimZoneLimits } from './dkim-zone-limits';
import { serveStream } from './dns-transport';

const QUERIES = 5_000;
const QUERY = Buffer.from([0, 2, 1, 2]);

it('serveStream answers few of thousands of queries in one turn of the event loop', async () => {
  const turn = { answers: 0, most: 0 };
  const answer = (message: Buffer): Promise<Buffer> => {
    if (turn.answers === 0) setImmediate(() => (turn.answers = 0));
    turn.most = Math.max(turn.most, (turn.answers += 1));
    // As long as a real one takes, at least.
    for (const endMs = performance.now() + 0.02; performance.now() < endMs;);
    return Promise.resolve(message);
  };
  const server = createServer((socket) => void serveStream(socket, answer, new DkimZoneLimits()));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1');
  let received = 0;
  client.on('data', (chunk: Buffer) => (received += chunk.length));
  client.write(Buffer.concat(Array<Buffer>(QUERIES).fill(QUERY)));
  await waitFor(() => received === QUERIES * QUERY.length, { what: 'all replies' });
  expect(turn.most).toBeLessThan(500);
  client.destroy();
  server.close();
});
