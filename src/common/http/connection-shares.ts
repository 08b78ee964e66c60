import type { Server, Socket } from 'node:net';
import { clientNetworkOf } from './client-address';

/**
 * What holds a place of a limited number, by client, the oldest first. When there is none left, one gives way to another client: so
 * many clients cannot keep out one more, as they could if each had a fixed share.
 */
export class HeldPlaces<Holder> {
  private readonly byClient = new Map<string, Set<Holder>>();

  countOf(client: string): number {
    return this.byClient.get(client)?.size ?? 0;
  }

  add(client: string, holder: Holder): void {
    const held = this.byClient.get(client);
    if (held) held.add(holder);
    else this.byClient.set(client, new Set([holder]));
  }

  remove(client: string, holder: Holder): void {
    const held = this.byClient.get(client);
    if (held?.delete(holder) && held.size === 0) this.byClient.delete(client);
  }

  /**
   * Who gives way to one more of this client: the oldest of the client that has most, at least two more than this one, or any if this
   * one has none.
   * @param mayGiveWay none of the others does
   */
  givingWayTo(client: string, mayGiveWay: (holder: Holder) => boolean = () => true): Holder | undefined {
    const own = this.countOf(client);
    let most = own === 0 ? 0 : own + 1;
    let found: Holder | undefined;
    for (const held of this.byClient.values()) {
      if (held.size <= most) continue;
      const oldest = firstOf(held, mayGiveWay);
      if (oldest === undefined) continue;
      found = oldest;
      most = held.size;
    }
    return found;
  }
}

function firstOf<Item>(items: Iterable<Item>, isWanted: (item: Item) => boolean): Item | undefined {
  for (const item of items) if (isWanted(item)) return item;
  return undefined;
}

interface ShareOptions {
  /** Of all clients together. */
  readonly maxConnections: number;
  /** Of one client; in any case no more than are left to the others. */
  readonly maxOfClient?: number;
  /** Whether a connection is in use, or its client is known: such ones give way to none. By default none is. */
  readonly isInUse?: (socket: Socket) => boolean;
  /** Ends a connection that gives way. */
  readonly end?: (socket: Socket) => void;
}

/** Connections that are being closed count for Node, but hold no place. */
const CLOSING = 100;

/**
 * Bounds the connections of a server, and closes those beyond the limits. No client may have more than is left to the others:
 * one alone gets half, each of n gets 1/(n+1). Beyond that a connection that is not in use gives way: the oldest of the client with
 * most connections. A proxy counts as one client.
 */
export function shareConnections(server: Server, options: ShareOptions): void {
  const { maxConnections, maxOfClient = Infinity, isInUse = () => false, end = (socket) => socket.destroy() } = options;
  const places = new HeldPlaces<Socket>();
  const leaveOf = new WeakMap<Socket, () => void>();
  let open = 0;
  server.maxConnections = maxConnections + CLOSING;
  server.on('connection', (socket: Socket) => {
    const client = clientNetworkOf(socket.remoteAddress ?? '');
    const own = places.countOf(client) + 1;
    if (own > maxConnections - open - 1 || own > maxOfClient) {
      const other = own > maxOfClient ? undefined : places.givingWayTo(client, (one) => !isInUse(one));
      if (!other) return void socket.destroy();
      leaveOf.get(other)?.();
      end(other);
    }
    open += 1;
    places.add(client, socket);
    const leave = (): void => {
      if (!leaveOf.delete(socket)) return;
      open -= 1;
      places.remove(client, socket);
    };
    leaveOf.set(socket, leave);
    atItsEnd(socket, leave);
  });
}

/** Not a listener: when TLS starts on a socket (STARTTLS), smtp-server removes all of them. */
function atItsEnd(socket: Socket, work: () => void): void {
  const destroy = socket._destroy.bind(socket);
  socket._destroy = (error, callback) => {
    work();
    destroy(error, callback);
  };
}

/** The same; existing listeners do not see refused connections. When TLS starts on a destroyed socket, Node 20 crashes. */
export function shareUnseen(server: Server, options: ShareOptions): void {
  const listeners = server.listeners('connection') as ((socket: Socket) => void)[];
  server.removeAllListeners('connection');
  shareConnections(server, options);
  for (const listener of listeners) {
    server.on('connection', (socket: Socket) => {
      if (!socket.destroyed) listener(socket);
    });
  }
}
