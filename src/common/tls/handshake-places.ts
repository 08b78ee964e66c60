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
  /** After so long one gives its place to a network that has fewer under way. */
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
  /** Undefined until it has begun. */
  beganMs: number | undefined;
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
      if (!next) return;
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

  /** Ends one that takes long, of the network with the most, where a network waits that has fewer. */
  private makeWay(): void {
    if (this.waiting.size === 0) return;
    const untilMs = performance.now() - this.limits.contestedMs;
    let late: Handshake | undefined;
    let most = 0;
    for (const handshake of this.underWay) {
      const count = this.countOf.get(handshake.client) ?? 0;
      if ((handshake.beganMs ?? Infinity) <= untilMs && count > most) [late, most] = [handshake, count];
    }
    const next = late && this.takeWithFewer(most);
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
      handshake.beganMs = performance.now();
      const timer = setTimeout(() => this.makeWay(), this.limits.contestedMs).unref();
      const end = (): void => {
        clearTimeout(timer);
        leave();
      };
      handshake.top.once('secure', end).once('close', end);
    };
    CONNECTION_TURNS.run(client, begin);
  }

  private remove(handshake: Handshake): boolean {
    if (!this.underWay.delete(handshake)) return false;
    const count = (this.countOf.get(handshake.client) ?? 1) - 1;
    if (count > 0) this.countOf.set(handshake.client, count);
    else this.countOf.delete(handshake.client);
    return true;
  }
}
