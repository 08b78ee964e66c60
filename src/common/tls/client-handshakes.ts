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
  /** What a server may send without a charge: most send 3 to 6 KiB. */
  readonly freeBytes: number;
  /** What its certificates may cost beyond that: a chain of 96 KiB that is made to cost took 640 ms of the event loop. */
  readonly msPerKib: number;
  /** Of the event loop, for the costly handshakes of one holder: one in so many. */
  readonly share: number;
  /** For how long a holder's handshakes go one by one after a costly one. */
  readonly rememberedMs: number;
  /** What a handshake may have cost at least for the others of its holder that are under way to be given up. */
  readonly revokingMs: number;
}

const LIMITS: ClientHandshakeLimits = {
  atATime: 64,
  freeBytes: 12 * 1024,
  msPerKib: 7,
  share: 10,
  rememberedMs: HOUR,
  revokingMs: 100,
};
const MAX_HOLDERS = 10_000;

/** For `connectBounded`: the longest that servers are known to send have 20 KiB, most of them names of authorities. */
export const BOUNDED_BYTES = 24 * 1024;

/** A place, which is to be returned. */
export interface ClientHandshake {
  /** The holder has had costly ones: the next is to be made by `connectBounded`. */
  readonly isBounded: boolean;
  /** @param bytes that the server has sent until now */
  end(bytes: number): void;
}

/**
 * The TLS handshakes of our clients with servers that customers point to. OpenSSL checks the signatures of a whole chain in one turn of the
 * event loop, also where no certificate has to be valid, and Node has no limit for the chain. So after a long chain the other handshakes
 * of its holder are given up, and the holder waits ten times as long as it may have cost, before its next one, which is bounded.
 */
export class ClientHandshakes {
  private readonly usual: HolderTurns;
  private readonly costly = new HolderTurns((own) => own < 1, Infinity);
  /** When holders of costly ones may begin the next, on a monotonic clock. */
  private readonly owing: LRUCache<string, number>;
  /** How those under way are given up, by holder. */
  private readonly running = new Map<string, Set<() => void>>();

  constructor(private readonly limits: ClientHandshakeLimits = LIMITS) {
    this.usual = new HolderTurns((own) => own < limits.atATime, Infinity);
    this.owing = new LRUCache({ ...atMost(MAX_HOLDERS), ttl: limits.rememberedMs });
  }

  /**
   * Waits for a place.
   * @param giveUp ends the handshake, where another one of the holder has cost much
   * @throws ClientGoneError, or the reason of the abort, when the signal is aborted while it waits
   */
  async begin(holder: string, giveUp: () => void, signal?: AbortSignal): Promise<ClientHandshake> {
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
    return {
      isBounded: turns === this.costly,
      end: (bytes) => {
        if (!own.delete(giveUp)) return;
        if (own.size === 0) this.running.delete(holder);
        this.charge(holder, bytes);
        turns.end(holder);
      },
    };
  }

  /** What has waited may find that the holder owes something by now. */
  private async place(holder: string, signal: AbortSignal | undefined): Promise<HolderTurns> {
    if (!this.owing.has(holder)) {
      await this.usual.begin(holder, signal);
      if (!this.owing.has(holder)) return this.usual;
      this.usual.end(holder);
    }
    await this.costly.begin(holder, signal);
    return this.costly;
  }

  private charge(holder: string, bytes: number): void {
    const { freeBytes, msPerKib, share, revokingMs } = this.limits;
    const costMs = ((bytes - freeBytes) / 1024) * msPerKib;
    if (costMs <= 0) return;
    this.owing.set(holder, Math.max(performance.now(), this.owing.get(holder) ?? 0) + share * costMs);
    // What they have been sent is read after this.
    if (costMs >= revokingMs) for (const giveUp of this.running.get(holder) ?? []) giveUp();
  }
}

/** The event loop is the process's one, and so is this. */
export const CLIENT_HANDSHAKES = new ClientHandshakes();
