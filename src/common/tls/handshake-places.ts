import type { Socket } from 'node:net';
import { HolderQueue, Tally } from '../async/holder-turns';
import { CONNECTION_TURNS } from '../async/shared-turns';

export interface Shares {
  /** Under way at a time, of all clients. */
  readonly inAll: number;
  /** Of one client network, and of those of one owner where others need places; further ones wait with their ClientHello. */
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
  /** Of the client's network (`ownedNetworkOf`): who has a /48 of IPv6 has 65,536 clients. */
  readonly owner: string;
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
 * Bounds the handshakes under way. The next one is of the owner of networks who has the fewest, and of his network that has the fewest.
 *
 *   waiting ──a place is free──► under way ──secure, closed, or it gives way──► left
 */
export class HandshakePlaces {
  private readonly waiting = new HolderQueue<Handshake>();
  private readonly underWay = new Set<Handshake>();
  private readonly ofClients = new Tally();
  private readonly ofOwners = new Tally();

  constructor(private readonly limits: PlaceLimits) {}

  enter(handshake: Handshake): void {
    const { client, socket } = handshake;
    if (this.waiting.sizeOf(client) >= this.limits.waiting) return endInTurn(handshake);
    this.waiting.add(client, handshake);
    socket.once('close', () => this.waiting.remove(client, handshake));
    this.fill();
  }

  private fill(): void {
    const { inAll, ofClient } = this.limits;
    while (this.underWay.size < inAll) {
      // One owner alone has half, each of n has 1/(n+1).
      const ofOwner = Math.max(ofClient, inAll - this.underWay.size);
      const mayBegin = ({ client, owner }: Handshake): boolean =>
        this.ofClients.of(client) < ofClient && this.ofOwners.of(owner) < ofOwner;
      const next = this.takeFewest(mayBegin);
      if (!next) break;
      this.start(next);
    }
    this.makeWay();
  }

  private takeFewest(mayTake: (next: Handshake) => boolean): Handshake | undefined {
    let found: Handshake | undefined;
    for (const next of this.waiting.firsts()) {
      if (mayTake(next) && (!found || this.compare(next, found) < 0)) found = next;
    }
    return found && this.waiting.take((client) => client === found.client);
  }

  /** Who has more under way: owners, then networks. */
  private compare(one: Handshake, other: Handshake): number {
    const owners = this.ofOwners.of(one.owner) - this.ofOwners.of(other.owner);
    return owners || this.ofClients.of(one.client) - this.ofClients.of(other.client);
  }

  /**
   * Ends one that takes long: of the owner with the most where another one waits who has fewer, then of a network whose owner has another one
   * that waits and has fewer, otherwise of a network that waits itself. Behind a proxy all clients are one network, and silent ones must not
   * keep its places.
   */
  private makeWay(): void {
    if (this.waiting.size === 0) return;
    const late = [...this.underWay].filter(({ isLate }) => isLate);
    const { mostOf, most } = this.mostOf(late);
    if (!most) return;
    const mostOfOwner = this.ofOwners.of(most.owner);
    const other = this.takeFewest(({ owner }) => this.ofOwners.of(owner) < mostOfOwner);
    if (other) return this.replace(most, other);
    const mostOfOwn = ({ owner }: Handshake): number => this.ofClients.of(mostOf.get(owner)?.client ?? '');
    const related = this.takeFewest((next) => this.ofClients.of(next.client) < mostOfOwn(next));
    if (related) return this.replace(mostOf.get(related.owner), related);
    const own = late.find(({ client }) => this.waiting.sizeOf(client) > 0);
    this.replace(own, own && this.waiting.take((client) => client === own.client));
  }

  /** Of each owner the one whose network has the most, and the same of all. */
  private mostOf(late: readonly Handshake[]): { mostOf: ReadonlyMap<string, Handshake>; most: Handshake | undefined } {
    const mostOf = new Map<string, Handshake>();
    let most: Handshake | undefined;
    for (const one of late) {
      const known = mostOf.get(one.owner);
      if (!known || this.compare(one, known) > 0) mostOf.set(one.owner, one);
      if (!most || this.compare(one, most) > 0) most = one;
    }
    return { mostOf, most };
  }

  private replace(late: Handshake | undefined, next: Handshake | undefined): void {
    if (!late || !next) return;
    this.remove(late);
    endInTurn(late);
    this.start(next);
  }

  private start(handshake: Handshake): void {
    const { client, owner, socket } = handshake;
    if (socket.destroyed) return;
    this.underWay.add(handshake);
    this.ofClients.add(client, 1);
    this.ofOwners.add(owner, 1);
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
    this.ofClients.add(handshake.client, -1);
    this.ofOwners.add(handshake.owner, -1);
    return true;
  }
}
