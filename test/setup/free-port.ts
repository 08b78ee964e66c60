import { once } from 'node:events';
import { createServer } from 'node:net';
import { waitFor } from './wait-for';

/** Below those that systems give to connections and to listeners on any port, of which the tests beside this one have many. */
const [FIRST, END] = [20_000, 32_000];

/** A port of 127.0.0.1 for a listener that has to be known before it starts, or at which nobody is to listen. */
export function freePort(): Promise<number> {
  return waitFor(
    async () => {
      const port = FIRST + Math.floor(Math.random() * (END - FIRST));
      const server = createServer().listen(port, '127.0.0.1');
      try {
        await once(server, 'listening');
      } catch {
        return undefined;
      }
      server.close();
      await once(server, 'close');
      return port;
    },
    { what: 'a free port' },
  );
}
