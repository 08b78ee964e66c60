import type { Socket } from 'node:net';
import { HolderQueue } from '../async/holder-turns';
import { CONNECTION_TURNS } from '../async/shared-turns';

export interface Shares {
  /** Under way at a time, of all clients. */
  readonly inAll: number;
  /** Of one client network; its others wait with their ClientHello. */
  readonly ofClient: number;
}

export interface PlaceLimits extends Shares {
  /** After so long one gives its place to a network that has fewer under way, or to the next one of its own network. */
  readonly contestedMs: number;
  /** Waiting of one client network; others are disconnected. */
  readonly waiting: number;
}

export interface Handshake {
  readonly client: string;
  readonly socket: Socket;
  /** The upper one: Node can crash when a socket is destroyed from under TLS. */
  top: Socket;
  /** False: not yet. */
  begin: () => boolean;
  /** It has been under way for `contestedMs`. */
  isLate: boolean;
}

/** Closes its connection. */
export function endInTurn({ client, top }: Handshake): void {
  CONNECTION_TURNS.run(client, () => void top.destroy());
}

/**
 * Bounds the handshakes under way.
 *
 *   waiting ──a place is free──► under way ──secure, closed, or it gives way──► left
 */
export class HandshakePlaces {
  private readonly waiting = new HolderQueue<Handshake>();
  private readonly underWay = new Set<Handshake>();
  private readonly countOf = new Map<string, number>();

  constructor(private readonly limits: PlaceLimits) {}

  enter(handshake: Handshake): void {
    const { client, socket } = handshake;
    if (this.waiting.sizeOf(client) >= this.limits.waiting) return endInTurn(handshake);
    this.waiting.add(client, handshake);
    socket.once('close', () => this.waiting.remove(client, handshake));
    this.fill();
  }

  private fill(): void {
    while (this.underWay.size < this.limits.inAll) {
      const next = this.takeWithFewer(this.limits.ofClient);
      if (!next) break;
      this.start(next);
    }
    this.makeWay();
  }

  /** Of the network with the fewest under way. */
  private takeWithFewer(than: number): Handshake | undefined {
    if (this.waiting.size === 0) return undefined;
    for (let most = 0; most < than; most += 1) {
      const next = this.waiting.take((client) => (this.countOf.get(client) ?? 0) <= most);
      if (next) return next;
    }
    return undefined;
  }

  /**
   * Ends one that takes long: of the network with the most where a network waits that has fewer, otherwise of a network that waits itself.
   * Behind a proxy all clients are one network, and silent ones must not keep its places.
   */
  private makeWay(): void {
    if (this.waiting.size === 0) return;
    const late = [...this.underWay].filter(({ isLate }) => isLate);
    const most = Math.max(0, ...late.map(({ client }) => this.countOf.get(client) ?? 0));
    const other = this.takeWithFewer(most);
    if (other) {
      const ofMost = late.find(({ client }) => this.countOf.get(client) === most);
      return this.replace(ofMost, other);
    }
    const own = late.find(({ client }) => this.waiting.sizeOf(client) > 0);
    this.replace(own, own && this.waiting.take((client) => client === own.client));
  }

  private replace(late: Handshake | undefined, next: Handshake | undefined): void {
    if (!late || !next) return;
    this.remove(late);
    endInTurn(late);
    this.start(next);
  }

  private start(handshake: Handshake): void {
    const { client, socket } = handshake;
    if (socket.destroyed) return;
    this.underWay.add(handshake);
    this.countOf.set(client, (this.countOf.get(client) ?? 0) + 1);
    const leave = (): void => {
      if (this.remove(handshake)) this.fill();
    };
    const begin = (): void => {
      if (socket.destroyed) return leave();
      // In a later turn: what it waits for may be what called this.
      if (!handshake.begin()) return void setImmediate(() => CONNECTION_TURNS.run(client, begin));
      const timer = setTimeout(() => this.late(handshake), this.limits.contestedMs).unref();
      const end = (): void => {
        clearTimeout(timer);
        leave();
      };
      handshake.top.once('secure', end).once('close', end);
    };
    CONNECTION_TURNS.run(client, begin);
  }

  private late(handshake: Handshake): void {
    handshake.isLate = true;
    this.makeWay();
  }

  private remove(handshake: Handshake): boolean {
    if (!this.underWay.delete(handshake)) return false;
    const count = (this.countOf.get(handshake.client) ?? 1) - 1;
    if (count > 0) this.countOf.set(handshake.client, count);
    else this.countOf.delete(handshake.client);
    return true;
  }
}
