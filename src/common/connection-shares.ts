import type { Server, Socket } from 'node:net';
import { clientNetworkOf, ownedNetworkOf } from './network';

/**
 * What holds a place of a limited number, by client, the oldest first. When there is none left, one gives way to another client: so
 * many clients cannot keep out one more, as they could if each had a fixed share. Clients of one owner's network count together first:
 * who has a /48 of IPv6 has 65,536 clients.
 */
export class HeldPlaces<Holder> {
  private readonly byOwner = new Map<string, ClientPlaces<Holder>>();

  countOf(client: string): number {
    return this.byOwner.get(ownedNetworkOf(client))?.countOf(client) ?? 0;
  }

  add(client: string, holder: Holder): void {
    const owner = ownedNetworkOf(client);
    const places = this.byOwner.get(owner) ?? new ClientPlaces<Holder>();
    this.byOwner.set(owner, places);
    places.add(client, holder);
  }

  remove(client: string, holder: Holder): void {
    const owner = ownedNetworkOf(client);
    const places = this.byOwner.get(owner);
    places?.remove(client, holder);
    if (places?.size === 0) this.byOwner.delete(owner);
  }

  /**
   * Who gives way to one more of this client: the oldest of the client that has most, in the network that has most. Network and client have
   * at least two more than this one's, or any if this one's have none. Without such a network it is one of the client's own network.
   * @param mayGiveWay none of the others does
   */
  givingWayTo(client: string, mayGiveWay: (holder: Holder) => boolean = () => true): Holder | undefined {
    const own = this.byOwner.get(ownedNetworkOf(client));
    let most = mostBeside(own?.size ?? 0);
    let found: Holder | undefined;
    for (const places of this.byOwner.values()) {
      if (places === own || places.size <= most) continue;
      const oldest = places.oldestOfMost(0, mayGiveWay);
      if (oldest === undefined) continue;
      found = oldest;
      most = places.size;
    }
    return found ?? own?.oldestOfMost(mostBeside(own.countOf(client)), mayGiveWay);
  }
}

/** How many another one may have and keep beside one that has so many and wants one more. */
function mostBeside(own: number): number {
  return own === 0 ? 0 : own + 1;
}

/** The places of the clients of one owner's network. */
class ClientPlaces<Holder> {
  private readonly byClient = new Map<string, Set<Holder>>();
  size = 0;

  countOf(client: string): number {
    return this.byClient.get(client)?.size ?? 0;
  }

  add(client: string, holder: Holder): void {
    const held = this.byClient.get(client) ?? new Set();
    this.byClient.set(client, held);
    this.size += held.has(holder) ? 0 : 1;
    held.add(holder);
  }

  remove(client: string, holder: Holder): void {
    const held = this.byClient.get(client);
    if (!held?.delete(holder)) return;
    this.size -= 1;
    if (held.size === 0) this.byClient.delete(client);
  }

  /** Of the client with most that has one which may give way, more than so many. */
  oldestOfMost(moreThan: number, mayGiveWay: (holder: Holder) => boolean): Holder | undefined {
    let most = moreThan;
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
 * most connections, in the network with most. A proxy counts as one client.
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
