import { LRUCache } from 'lru-cache';
import { atMost } from '../../../common/bounded-cache';
import { MINUTE } from '../../../common/clock';
import { ownedNetworkOf } from '../../../common/network';
import {
  AuthenticationThread,
  type Examination,
  type Examined,
  type Found,
  ThreadEndedError,
  TooCostlyError,
} from './authentication-thread';

/** CPU time of a message that few others should wait for. */
const COSTLY_MS = 1_000;
const REMEMBERED_MS = 10 * MINUTE;
const MAX_NETWORKS = 10_000;

/**
 * Two threads: one for networks whose mail costs what mail does, and one for those whose owner had a costly message lately. Once such a message has ended
 * the first thread, networks that are not known yet begin in the second for ten minutes, so that many networks cannot end the first one
 * again and again.
 *
 *   unknown ──usual──► known ──costly──► slow ──ten minutes──► unknown
 */
export class AuthenticationPool {
  private readonly usual = new AuthenticationThread();
  private readonly slow = new AuthenticationThread(10);
  private readonly known = new LRUCache<string, true>(atMost(MAX_NETWORKS));
  private readonly costly = new LRUCache<string, true>({ ...atMost(MAX_NETWORKS), ttl: REMEMBERED_MS });
  private onlyKnownUntilMs = 0;

  /**
   * Undefined for a message that costs too much.
   * @param examination called once more when another message has ended the thread
   * @throws Error when nothing is found
   */
  async examine(network: string, examination: () => Examination): Promise<Found | undefined> {
    const thread = this.threadFor(network);
    try {
      const { found, spentMs } = await examineIn(thread, examination);
      if (spentMs > COSTLY_MS) this.noteCostly(network);
      else this.known.set(network, true);
      return found;
    } catch (error) {
      if (!(error instanceof TooCostlyError)) throw error;
      this.noteCostly(network);
      if (thread === this.usual) this.onlyKnownUntilMs = performance.now() + REMEMBERED_MS;
      return undefined;
    }
  }

  private threadFor(network: string): AuthenticationThread {
    if (this.costly.has(ownedNetworkOf(network))) return this.slow;
    return performance.now() < this.onlyKnownUntilMs && !this.known.has(network) ? this.slow : this.usual;
  }

  private noteCostly(network: string): void {
    this.costly.set(ownedNetworkOf(network), true);
    this.known.delete(network);
  }
}

async function examineIn(thread: AuthenticationThread, examination: () => Examination): Promise<Examined> {
  try {
    return await thread.examine(examination());
  } catch (error) {
    if (error instanceof ThreadEndedError) return thread.examine(examination());
    throw error;
  }
}

/** Of this process. */
export const AUTHENTICATION_POOL = new AuthenticationPool();
