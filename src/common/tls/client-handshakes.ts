import { constants } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { SecureContextOptions } from 'node:tls';
import { LRUCache } from 'lru-cache';
import { HolderTurns } from '../async/holder-turns';
import { atMost } from '../bounded-cache';
import { HOUR } from '../clock';

/**
 * Of our clients. With TLS 1.2 a server could have this side begin again and again on one connection, and check its certificates each
 * time.
 */
export const CLIENT_TLS = {
  minVersion: 'TLSv1.2',
  secureOptions: constants.SSL_OP_NO_RENEGOTIATION,
} satisfies SecureContextOptions;

export interface ClientHandshakeLimits {
  /** Of one holder. */
  readonly atATime: number;
  /** What a handshake may take of the event loop without a charge: an honest one takes 1 to 4 ms. */
  readonly freeMs: number;
  /** From this time on the others of the holder are given up, and the next go one by one. */
  readonly revokingMs: number;
  /** How many of a holder have to cost little, after one that cost much, before they go side by side again. */
  readonly oneByOne: number;
  /** Of the event loop, for the costly handshakes of one holder: one in so many. */
  readonly share: number;
  /** Of handshakes with servers that are known to cost little one in so many is measured again, and its cost counts as often. */
  readonly sample: number;
  /** For how long a server is known to cost little. */
  readonly knownMs: number;
  /** What a server may send without being measured; or as much as it sent when it was. Most send 3 to 6 KiB. */
  readonly freeBytes: number;
  /** What certificates beyond that may cost: a chain of 96 KiB that is made to cost took 640 ms of the event loop. */
  readonly msPerKib: number;
}

const LIMITS: ClientHandshakeLimits = {
  atATime: 64,
  freeMs: 10,
  revokingMs: 50,
  oneByOne: 8,
  share: 10,
  sample: 8,
  knownMs: HOUR,
  freeBytes: 8 * 1024,
  msPerKib: 7,
};
const MAX_HOLDERS = 10_000;
const MAX_SERVERS = 10_000;

/** For `connectMeasured`: the longest that servers are known to send have 20 KiB, most of them names of authorities. */
export const BOUNDED_BYTES = 24 * 1024;

export interface HandshakeRequest {
  /** In whose share it is. */
  readonly holder: string;
  /** The server's address; each handshake is measured without one. */
  readonly server?: string;
  /** Ends the handshake, where another one of the holder has cost much. */
  readonly giveUp: () => void;
  readonly signal?: AbortSignal;
}

export interface HandshakeCost {
  /** That the server has sent until now. */
  readonly bytes: number;
  /** Of the event loop; undefined when it was not measured. */
  readonly ms: number | undefined;
}

/** A place, which is to be returned. */
export interface ClientHandshake {
  /** To be made by `connectMeasured`. */
  readonly isMeasured: boolean;
  /** The first call counts. @param hasSucceeded only then the server is known */
  end(cost: HandshakeCost, hasSucceeded?: boolean): void;
}

/**
 * The TLS handshakes of our clients with servers that customers point to. OpenSSL checks the signatures of a whole chain in one turn of the
 * event loop, also where no certificate has to be valid, and Node has no limit for it. What that takes can only be measured with the bytes
 * passing through JavaScript, which costs each mail of the connection 70 µs more. So the first handshake with a server is measured, and a
 * sample of the later ones. A holder waits ten times as long as its costly ones took, and after one that took long its others are given up.
 */
export class ClientHandshakes {
  private readonly sideBySide: HolderTurns;
  private readonly oneByOne = new HolderTurns((own) => own < 1, Infinity);
  /** When holders of costly ones may begin the next, on a monotonic clock. */
  private readonly owing = new LRUCache<string, number>(atMost(MAX_HOLDERS));
  /** How many more of a holder have to cost little. */
  private readonly suspects = new LRUCache<string, number>(atMost(MAX_HOLDERS));
  /** Servers that cost little, with what they send. */
  private readonly known: LRUCache<string, number>;
  /** How those under way are given up, by holder. */
  private readonly running = new Map<string, Set<() => void>>();

  constructor(
    private readonly limits: ClientHandshakeLimits = LIMITS,
    private readonly random: () => number = Math.random,
  ) {
    this.sideBySide = new HolderTurns((own) => own < limits.atATime, Infinity);
    this.known = new LRUCache({ ...atMost(MAX_SERVERS), ttl: limits.knownMs });
  }

  /**
   * Waits for a place.
   * @throws ClientGoneError, or the reason of the abort, when the signal is aborted while it waits
   */
  async begin(request: HandshakeRequest): Promise<ClientHandshake> {
    const { holder, server, giveUp, signal } = request;
    const turns = await this.place(holder, signal);
    try {
      const waitMs = (this.owing.get(holder) ?? 0) - performance.now();
      if (waitMs > 0) await delay(waitMs, undefined, { signal });
    } catch (error) {
      turns.end(holder);
      throw error;
    }
    const own = this.running.get(holder) ?? new Set();
    this.running.set(holder, own.add(giveUp));
    const isSample = turns === this.sideBySide && server !== undefined && this.known.has(server);
    return {
      isMeasured: !isSample || this.random() * this.limits.sample < 1,
      end: (cost, hasSucceeded = false) => {
        if (!own.delete(giveUp)) return;
        if (own.size === 0) this.running.delete(holder);
        if (!this.charge(request, cost, isSample ? this.limits.sample : 1)) this.noteCheap(request, cost, hasSucceeded);
        turns.end(holder);
      },
    };
  }

  /** What has waited may find that another one has cost much by now. */
  private async place(holder: string, signal: AbortSignal | undefined): Promise<HolderTurns> {
    if (!this.suspects.has(holder)) {
      await this.sideBySide.begin(holder, signal);
      if (!this.suspects.has(holder)) return this.sideBySide;
      this.sideBySide.end(holder);
    }
    await this.oneByOne.begin(holder, signal);
    return this.oneByOne;
  }

  /** @param weight for how many handshakes this one stands, if it was measured @returns whether it cost something */
  private charge({ holder, server = '' }: HandshakeRequest, cost: HandshakeCost, weight: number): boolean {
    const { share, revokingMs, oneByOne } = this.limits;
    const costMs = this.costMs(server, cost);
    if (costMs <= 0) return false;
    this.known.delete(server);
    const chargeMs = share * costMs * (cost.ms === undefined ? 1 : weight);
    this.owing.set(holder, Math.max(performance.now(), this.owing.get(holder) ?? 0) + chargeMs);
    if (costMs < revokingMs) return true;
    this.suspects.set(holder, oneByOne);
    // What they have been sent is read after this.
    for (const giveUp of this.running.get(holder) ?? []) giveUp();
    return true;
  }

  private costMs(server: string, { bytes, ms }: HandshakeCost): number {
    const { freeMs, freeBytes, msPerKib } = this.limits;
    if (ms !== undefined) return ms > freeMs ? ms : 0;
    return ((bytes - Math.max(freeBytes, this.known.get(server) ?? 0)) / 1024) * msPerKib;
  }

  private noteCheap({ holder, server }: HandshakeRequest, { bytes, ms }: HandshakeCost, hasSucceeded: boolean): void {
    if (ms === undefined) return;
    const suspicion = (this.suspects.get(holder) ?? 0) - 1;
    if (suspicion > 0) this.suspects.set(holder, suspicion);
    else this.suspects.delete(holder);
    // A session that is continued has few bytes.
    if (server !== undefined && hasSucceeded) this.known.set(server, Math.max(bytes, this.known.get(server) ?? 0));
  }
}

/** The event loop is the process's one, and so is this. */
export const CLIENT_HANDSHAKES = new ClientHandshakes();
