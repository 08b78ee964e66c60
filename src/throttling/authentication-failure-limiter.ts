import { createHash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import type { Request } from 'express';
import { LRUCache } from 'lru-cache';
import { atMost } from '../common/bounded-cache';
import { Clock, HOUR, MINUTE, SECOND } from '../common/clock';
import { AppError } from '../common/errors/app-error';
import { clientAddressOf } from '../common/http/request/client-address';
import { AuthenticationFailures, LoginFailures } from '../common/http/request/request-limits';
import { clientNetworkOf, ownedNetworkOf } from '../common/network';
import { CLIENT_GONE } from '../common/tenant';
import { ThrottlingConfig } from './limits';
import { OwnerTurns } from './owner-turns';
import { ThrottleHitsRepository } from './throttle-hits.repository';

/** Failures in a minute of a client network, of all networks of one owner, and of all clients together. */
const MOST = { network: 100, owner: 300, inAll: 3_000 };
const WINDOW_MS = MINUTE;
const MAX_NETWORKS = 10_000;
/** Look-ups of credentials that are not known, for clients that have failed too often. */
const SUSPECTS_AT_ONCE = 2;
const MAX_KNOWN = 20_000;

interface FailureWindow {
  count: number;
  readonly endMs: number;
}

/** Failed authentications in the memory of this process, and the credentials that were good within the last hour. */
@Injectable()
export class AuthenticationFailureLimiter extends AuthenticationFailures {
  private readonly networks = new LRUCache<string, FailureWindow>(atMost(MAX_NETWORKS));
  /** Apart from the networks: one owner has more of them than are kept. */
  private readonly owners = new LRUCache<string, FailureWindow>(atMost(MAX_NETWORKS));
  private inAll: FailureWindow = { count: 0, endMs: 0 };
  private readonly known: LRUCache<string, true>;
  private readonly suspects = new OwnerTurns(SUSPECTS_AT_ONCE);

  constructor(
    private readonly config: ThrottlingConfig,
    private readonly clock: Clock,
  ) {
    super();
    const perf = { now: () => this.clock.monotonicMs() };
    this.known = new LRUCache({ ...atMost(MAX_KNOWN), ttl: HOUR, ttlResolution: 0, perf });
  }

  async verify<T>(request: Request, credential: string, lookUp: () => Promise<T>): Promise<T> {
    const address = clientAddressOf(request);
    const hash = createHash('sha256').update(credential).digest('base64');
    try {
      const isFree = this.known.has(hash) || !this.hasTooMany(address);
      const result = await (isFree ? lookUp() : this.inTurn(address, request, lookUp));
      this.known.set(hash, true);
      return result;
    } catch (error) {
      const isGuess = error instanceof AppError && error.code === 'invalid_api_key';
      throw isGuess ? this.refusalFor(address, error) : error;
    }
  }

  private inTurn<T>(address: string, { res }: Request, lookUp: () => Promise<T>): Promise<T> {
    const gone = new AbortController();
    res?.once('close', () => gone.abort(CLIENT_GONE));
    return this.suspects.run(clientNetworkOf(address), lookUp, gone.signal);
  }

  private refusalFor(ip: string, failure: AppError): AppError {
    if (!this.config.enabled) return failure;
    const nowMs = this.clock.monotonicMs();
    const network = clientNetworkOf(ip);
    if (nowMs >= this.inAll.endMs) this.inAll = newWindow(nowMs);
    this.inAll.count += 1;
    const own = countIn(this.networks, network, nowMs);
    const ofOwner = countIn(this.owners, ownedNetworkOf(network), nowMs);
    const exceeded = [own.count > MOST.network && own, ofOwner.count > MOST.owner && ofOwner].filter(
      (one) => one !== false,
    );
    if (exceeded.length === 0) return failure;
    const endMs = Math.max(...exceeded.map((window) => window.endMs));
    const seconds = Math.max(1, Math.ceil((endMs - nowMs) / SECOND));
    return new AppError('rate_limit_exceeded', `Rate limit exceeded. Retry after ${seconds} seconds`, {
      retryAfterSeconds: seconds,
    });
  }

  private hasTooMany(ip: string): boolean {
    const nowMs = this.clock.monotonicMs();
    const isOver = (window: FailureWindow | undefined, most: number): boolean =>
      window !== undefined && window.count >= most && nowMs < window.endMs;
    const network = clientNetworkOf(ip);
    return (
      isOver(this.inAll, MOST.inAll) ||
      isOver(this.networks.get(network), MOST.network) ||
      isOver(this.owners.get(ownedNetworkOf(network)), MOST.owner)
    );
  }
}

function newWindow(nowMs: number): FailureWindow {
  return { count: 0, endMs: nowMs + WINDOW_MS };
}

/** Counts a failure in a window, which begins with the first. */
function countIn(windows: LRUCache<string, FailureWindow>, key: string, nowMs: number): FailureWindow {
  const known = windows.get(key);
  const window = known && nowMs < known.endMs ? known : newWindow(nowMs);
  window.count += 1;
  windows.set(key, window);
  return window;
}

/** Failed logins in the counters that all processes share, by the minute of the database's clock. */
@Injectable()
export class SharedLoginFailures extends LoginFailures {
  constructor(private readonly hits: ThrottleHitsRepository) {
    super();
  }

  count(client: string, minutes: number): Promise<number> {
    return this.hits.recent(keyOf(client), minutes);
  }

  async add(client: string, minutes: number): Promise<number> {
    await this.hits.addRecent(keyOf(client), minutes);
    return this.hits.recent(keyOf(client), minutes);
  }
}

function keyOf(client: string): string {
  return `smtp-login:${client}`;
}
