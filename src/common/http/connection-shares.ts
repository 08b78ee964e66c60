import type { Server, Socket } from 'node:net';
import { clientNetworkOf } from './client-address';

/**
 * Bounds the connections of a server, and closes those that would be too many at once. No client may have more than is left to the
 * others: one alone gets half, each of n gets 1/(n+1), and a further one always finds room. A proxy counts as one client.
 */
export function shareConnections(server: Server, maxConnections: number): void {
  let open = 0;
  const openBy = new Map<string, number>();
  server.maxConnections = maxConnections;
  server.on('connection', (socket: Socket) => {
    const client = clientNetworkOf(socket.remoteAddress ?? '');
    const own = (openBy.get(client) ?? 0) + 1;
    if (own > maxConnections - open - 1) {
      socket.destroy();
      return;
    }
    open += 1;
    openBy.set(client, own);
    socket.once('close', () => {
      open -= 1;
      const left = (openBy.get(client) ?? 0) - 1;
      if (left > 0) openBy.set(client, left);
      else openBy.delete(client);
    });
  });
}
