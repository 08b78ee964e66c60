import { constants } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { SecureContextOptions } from 'node:tls';
import { LRUCache } from 'lru-cache';
import { HolderTurns } from '../async/holder-turns';
import { atMost } from '../bounded-cache';

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
}

const LIMITS: ClientHandshakeLimits = { atATime: 64, freeMs: 10, revokingMs: 50, oneByOne: 8, share: 10 };
const MAX_HOLDERS = 10_000;

export interface HandshakeRequest {
  /** In whose share it is. */
  readonly holder: string;
  /** Ends the handshake, where another one of the holder has cost much. */
  readonly giveUp: () => void;
  readonly signal?: AbortSignal;
}

/** A place, which is to be returned. */
export interface ClientHandshake {
  /** The first call counts. @param ms that it has taken of the event loop, by `connectMeasured` */
  end(ms: number): void;
}

/**
 * The TLS handshakes of our clients with servers that customers point to. OpenSSL checks the signatures of a whole chain in one turn of the
 * event loop, also where no certificate has to be valid, and Node has no limit for it. So a holder waits ten times as long as its costly
 * handshakes have taken, and after one that took long its others are given up, and the next go one by one.
 */
export class ClientHandshakes {
  private readonly sideBySide: HolderTurns;
  private readonly oneByOne = new HolderTurns((own) => own < 1, Infinity);
  /** When holders of costly ones may begin the next, on a monotonic clock. */
  private readonly owing = new LRUCache<string, number>(atMost(MAX_HOLDERS));
  /** How many more of a holder have to cost little. */
  private readonly suspects = new LRUCache<string, number>(atMost(MAX_HOLDERS));
  /** How those under way are given up, by holder. */
  private readonly running = new Map<string, Set<() => void>>();

  constructor(private readonly limits: ClientHandshakeLimits = LIMITS) {
    this.sideBySide = new HolderTurns((own) => own < limits.atATime, Infinity);
  }

  /**
   * Waits for a place.
   * @throws ClientGoneError, or the reason of the abort, when the signal is aborted while it waits
   */
  async begin({ holder, giveUp, signal }: HandshakeRequest): Promise<ClientHandshake> {
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
      end: (ms) => {
        if (!own.delete(giveUp)) return;
        if (own.size === 0) this.running.delete(holder);
        if (ms > this.limits.freeMs) this.charge(holder, ms);
        // Those that went side by side may have been given up.
        else if (turns === this.oneByOne) this.noteCheap(holder);
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

  private charge(holder: string, ms: number): void {
    const { share, revokingMs, oneByOne } = this.limits;
    this.owing.set(holder, Math.max(performance.now(), this.owing.get(holder) ?? 0) + share * ms);
    if (ms < revokingMs) return;
    this.suspects.set(holder, oneByOne);
    // What they have been sent is read after this.
    for (const giveUp of this.running.get(holder) ?? []) giveUp();
  }

  private noteCheap(holder: string): void {
    const suspicion = (this.suspects.get(holder) ?? 0) - 1;
    if (suspicion > 0) this.suspects.set(holder, suspicion);
    else this.suspects.delete(holder);
  }
}

/** The event loop is the process's one, and so is this. */
export const CLIENT_HANDSHAKES = new ClientHandshakes();
