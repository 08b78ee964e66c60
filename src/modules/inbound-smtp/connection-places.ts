import type { Socket } from 'node:net';
import type { Clock } from '../../common/clock';
import { HeldPlaces } from '../../common/connection-shares';
import { clientNetworkOf } from '../../common/network';
import type { InboundLimits } from './inbound-limits';

interface Place {
  readonly client: string;
  readonly socket: Socket;
  /** Ends the connection, however active it is. */
  readonly age: NodeJS.Timeout;
  /** Ends it while it has named no recipient. */
  readonly unproven: NodeJS.Timeout;
  /** Without it the connection is turned away, and takes no place: of many that come at once as many as may are served. */
  readonly isServed: boolean;
  /** When its client last showed that it is honest: by an address that is not public, or a message that was taken. */
  provenMs: number | undefined;
  /** A message has been read, and is being stored. */
  isStoring: boolean;
}

/**
 * The open connections of the listener by peer, and which of them are served. When there is no room, one gives way to another client:
 * one that has named no recipient, or that has had no message taken for a while, however busy it looks. Mail that is sent
 * at one byte in a second would hold its place for ten minutes.
 */
export class ConnectionPlaces {
  private readonly open = new Map<string, Place>();
  private readonly served = new HeldPlaces<string>();
  private servedCount = 0;

  /** @param end destroys a connection */
  constructor(
    private readonly limits: InboundLimits,
    private readonly clock: Clock,
    private readonly end: (socket: Socket) => void,
  ) {}

  /** A new connection. The idle limit alone would let a client that sends single bytes stay connected without end. */
  enter(peer: string, socket: Socket): void {
    this.leave(peer);
    const { connectionMs, unprovenMs } = this.limits;
    const client = clientNetworkOf(socket.remoteAddress ?? '');
    const isServed = this.hasRoom(client);
    const endAfter = (ms: number) => setTimeout(() => this.end(socket), ms);
    const timers = { age: endAfter(connectionMs), unproven: endAfter(unprovenMs) };
    this.open.set(peer, { client, socket, ...timers, isServed, provenMs: undefined, isStoring: false });
    if (!isServed) return;
    this.servedCount += 1;
    this.served.add(client, peer);
  }

  isServed(peer: string): boolean {
    return this.open.get(peer)?.isServed === true;
  }

  isProven(peer: string): boolean {
    return this.open.get(peer)?.provenMs !== undefined;
  }

  /** A recipient has been accepted, so that the client may take its time. One that is public (`isProof` is false) is known to all, and proves nothing. */
  admitted(peer: string, isProof: boolean): void {
    const place = this.open.get(peer);
    clearTimeout(place?.unproven);
    // The first one counts: recipients are named faster than messages are sent.
    if (place && isProof) place.provenMs ??= this.clock.monotonicMs();
  }

  /** The end of a message has come. */
  storing(peer: string): void {
    const place = this.open.get(peer);
    if (place) place.isStoring = true;
  }

  /** The message has been taken or refused. */
  settled(peer: string, isTaken: boolean): void {
    const place = this.open.get(peer);
    if (!place) return;
    place.isStoring = false;
    if (isTaken && place.provenMs !== undefined) place.provenMs = this.clock.monotonicMs();
  }

  /** A connection has closed: another one of the same port may exist by now. */
  closed(peer: string): void {
    if (this.open.get(peer)?.socket.destroyed) this.leave(peer);
  }

  private leave(peer: string): void {
    const place = this.open.get(peer);
    if (!place) return;
    this.open.delete(peer);
    clearTimeout(place.age);
    clearTimeout(place.unproven);
    if (!place.isServed) return;
    this.servedCount -= 1;
    this.served.remove(place.client, peer);
  }

  private hasRoom(client: string): boolean {
    const { maxConnections, maxConnectionsOfClient } = this.limits;
    if (this.served.countOf(client) >= maxConnectionsOfClient) return false;
    return this.servedCount < maxConnections || this.makeRoom(client);
  }

  /** Ends a connection for another client's; false when none gives way. */
  private makeRoom(client: string): boolean {
    const peer = this.served.givingWayTo(client, (one) => this.givesWay(one));
    const known = peer === undefined ? undefined : this.open.get(peer);
    if (peer === undefined || !known) return false;
    this.leave(peer);
    this.end(known.socket);
    return true;
  }

  private givesWay(peer: string): boolean {
    const { provenMs, isStoring = false } = this.open.get(peer) ?? {};
    if (isStoring) return false;
    return provenMs === undefined || this.clock.monotonicMs() - provenMs > this.limits.contestedMs;
  }
}
