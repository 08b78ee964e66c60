import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { atMost } from '../common/bounded-cache';
import { Clock, MINUTE, SECOND } from '../common/clock';
import { AppError } from '../common/errors/app-error';
import { clientNetworkOf } from '../common/http/client-address';
import { AuthenticationFailures, LoginFailures } from '../common/http/request-limits';
import { ThrottlingConfig } from './limits';
import { ThrottleHitsRepository } from './throttle-hits.repository';

const MAX_FAILURES = 100;
const WINDOW_MS = MINUTE;
const MAX_ADDRESSES = 10_000;

interface FailureWindow {
  count: number;
  readonly endMs: number;
}

/** Failed authentications per client address, in the memory of this process. */
@Injectable()
export class AuthenticationFailureLimiter extends AuthenticationFailures {
  private readonly windows = new LRUCache<string, FailureWindow>(atMost(MAX_ADDRESSES));

  constructor(
    private readonly config: ThrottlingConfig,
    private readonly clock: Clock,
  ) {
    super();
  }

  refusalFor(ip: string, failure: AppError): AppError {
    if (!this.config.enabled) return failure;
    const nowMs = this.clock.monotonicMs();
    const window = this.windowOf(clientNetworkOf(ip), nowMs);
    window.count += 1;
    if (window.count <= MAX_FAILURES) return failure;
    const seconds = Math.max(1, Math.ceil((window.endMs - nowMs) / SECOND));
    return new AppError('rate_limit_exceeded', `Rate limit exceeded. Retry after ${seconds} seconds`, {
      retryAfterSeconds: seconds,
    });
  }

  hasTooMany(ip: string): boolean {
    const window = this.windows.get(clientNetworkOf(ip));
    return window !== undefined && window.count >= MAX_FAILURES && this.clock.monotonicMs() < window.endMs;
  }

  /** The window of an address; it begins with the first failure. */
  private windowOf(network: string, nowMs: number): FailureWindow {
    const known = this.windows.get(network);
    if (known && nowMs < known.endMs) return known;
    const window = { count: 0, endMs: nowMs + WINDOW_MS };
    this.windows.set(network, window);
    return window;
  }
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
