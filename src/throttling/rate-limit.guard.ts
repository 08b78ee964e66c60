import { type ExecutionContext, Injectable } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { InjectThrottlerOptions, ThrottlerGuard, type ThrottlerModuleOptions } from '@nestjs/throttler';
import type { Request, Response } from 'express';
import { Clock, SECOND } from '../common/clock';
import { AppError } from '../common/errors/app-error';
import type { Principal } from '../common/http/principal';
import { type EndpointClass, RATE_LIMIT_CLASS_METADATA } from '../common/http/rate-limit-class.decorator';
import type { RequestLimits } from '../common/http/request-limits';
import { type LimitName, ThrottlingConfig } from './limits';
import { SharedThrottleStorage } from './shared-throttle.storage';
import { hitsOf, type WindowCounter } from './window-counters';

/** One limit that a request counts against. */
interface Applied {
  readonly name: LimitName;
  readonly limit: number;
  readonly counter: WindowCounter;
}

/** Shared by all admitted requests: the library's type asks for a promise, nothing here waits. */
const ADMITTED = Promise.resolve(true);

/**
 * Counts every authenticated request against its key's limit for the endpoint class and against its organization's, test
 * keys against one more. It runs after the auth guard; requests without a principal are public and pass. A request that
 * one limit refuses counts against none, so that a key over its limit does not use up what its organization has left.
 */
@Injectable()
export class RateLimitGuard extends ThrottlerGuard implements RequestLimits {
  private readonly classes = new Map<unknown, EndpointClass>();

  constructor(
    @InjectThrottlerOptions() options: ThrottlerModuleOptions,
    private readonly storage: SharedThrottleStorage,
    reflector: Reflector,
    private readonly config: ThrottlingConfig,
    private readonly clock: Clock,
  ) {
    super(options, storage, reflector);
  }

  override canActivate(context: ExecutionContext): Promise<boolean> {
    this.count(context);
    return ADMITTED;
  }

  /** What the guard does; also called for what auth refuses after it knows the caller. */
  count(context: ExecutionContext): void {
    const http = context.switchToHttp();
    const { principal } = http.getRequest<Request>();
    if (!principal || !this.config.enabled) return;
    const nowMs = this.clock.now().getTime();
    const applied = this.limitsOf(principal, this.classOf(context), nowMs);
    const exceeded = longest(applied.filter(({ counter, limit }) => hitsOf(counter) >= limit));
    if (exceeded) throw refusal(http.getResponse<Response>(), exceeded, nowMs);
    for (const { counter } of applied) this.storage.hit(counter);
    tell(http.getResponse<Response>(), closest(applied));
  }

  private limitsOf({ apiKeyId, organizationId, mode }: Principal, endpoint: EndpointClass, nowMs: number): Applied[] {
    const applied = [
      this.apply(endpoint, `key:${apiKeyId}:${endpoint}`, nowMs),
      this.apply('organization', `organization:${organizationId}`, nowMs),
    ];
    if (mode === 'test') applied.push(this.apply('test-key', `test-key:${apiKeyId}`, nowMs));
    return applied;
  }

  private apply(name: LimitName, key: string, nowMs: number): Applied {
    const { limit, windowSeconds } = this.config.limits[name];
    return { name, limit, counter: this.storage.counter(key, windowSeconds * SECOND, nowMs) };
  }

  private classOf(context: ExecutionContext): EndpointClass {
    const handler = context.getHandler();
    const known = this.classes.get(handler);
    if (known) return known;
    const declared = this.reflector.getAllAndOverride<EndpointClass | undefined>(RATE_LIMIT_CLASS_METADATA, [
      handler,
      context.getClass(),
    ]);
    const { method } = context.switchToHttp().getRequest<Request>();
    const resolved = declared ?? (method === 'GET' || method === 'HEAD' ? 'reads' : 'writes');
    this.classes.set(handler, resolved);
    return resolved;
  }
}

function remaining({ limit, counter }: Applied): number {
  return Math.max(0, limit - hitsOf(counter));
}

/** The limit that the fewest further requests would reach. */
function closest(applied: readonly Applied[]): Applied {
  return applied.reduce((nearest, next) => (remaining(next) < remaining(nearest) ? next : nearest));
}

/** Of the exceeded limits the one that holds longest: waiting for another would not help. */
function longest(exceeded: readonly Applied[]): Applied | undefined {
  const [first, ...others] = exceeded;
  if (!first) return undefined;
  return others.reduce((last, next) => (next.counter.windowEndMs > last.counter.windowEndMs ? next : last), first);
}

function tell(response: Response, applied: Applied): void {
  response.setHeader('x-ratelimit-limit', applied.limit);
  response.setHeader('x-ratelimit-remaining', remaining(applied));
  response.setHeader('x-ratelimit-reset', applied.counter.windowEndMs / SECOND);
}

function refusal(response: Response, exceeded: Applied, nowMs: number): AppError {
  tell(response, exceeded);
  const seconds = Math.max(1, Math.ceil((exceeded.counter.windowEndMs - nowMs) / SECOND));
  return new AppError('rate_limit_exceeded', `Rate limit exceeded. Retry after ${seconds} seconds`, {
    retryAfterSeconds: seconds,
    details: { limit: exceeded.limit, scope: exceeded.name },
    suggestion: 'Wait for the time in Retry-After, then retry with exponential backoff and jitter',
  });
}
