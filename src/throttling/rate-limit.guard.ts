import { type ExecutionContext, Injectable } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import {
  InjectThrottlerOptions,
  ThrottlerGuard,
  type ThrottlerModuleOptions,
  type ThrottlerRequest,
} from '@nestjs/throttler';
import type { Request, Response } from 'express';
import { Clock, SECOND } from '../common/clock';
import { AppError } from '../common/errors/app-error';
import { clientAddressOf } from '../common/http/request/client-address';
import type { Principal } from '../common/http/principal';
import {
  CHANGE_METADATA,
  type EndpointClass,
  RATE_LIMIT_CLASS_METADATA,
  type RequestLimits,
} from '../common/http/request/request-limits';
import { clientNetworkOf } from '../common/network';
import { type LimitName, ThrottlingConfig } from './limits';
import { SharedThrottleStorage } from './shared-throttle.storage';
import { hitsOf, newCounter, type WindowCounter } from './window-counters';

/** One limit that a request counts against. */
interface Applied {
  readonly name: string;
  readonly limit: number;
  readonly counter: WindowCounter;
}

/** What a route's decorators declare about its limit. */
interface Plan {
  readonly endpoint: EndpointClass;
  /** The class is given by `@RateLimitClass`; otherwise it follows from the HTTP method. */
  readonly isDeclared: boolean;
  /** It counts against what its organization may change. */
  readonly isChange: boolean;
  /** The route has a decorator of @nestjs/throttler: `@Throttle` or `@SkipThrottle`. */
  readonly usesThrottler: boolean;
  /** `@Throttle({ default: … })` replaces the limit of the endpoint class. */
  readonly hasOwnLimit: boolean;
}

/** Shared by all admitted requests: the library's type requires a promise, but nothing is awaited. */
const ADMITTED = Promise.resolve(true);

/** The throttler's metadata keys, which it does not export. */
const THROTTLER_PREFIX = 'THROTTLER:';
const OWN_LIMIT = 'THROTTLER:LIMITdefault';

/** Classes that an organization has limits for as well: what a few of its keys have together. */
const SHARED: ReadonlySet<string> = new Set<EndpointClass>([
  'domain-writes',
  'gdpr-export',
  'gdpr-delete',
  'api-key-writes',
]);
const KEYS_WORTH = 10;

/**
 * Counts every authenticated request against its key's limit for the endpoint class and against its organization's limit; changes
 * count against what the organization may change as well. Those of domains, keys and privacy requests have limits of their own, so that
 * a key that has been stolen can be revoked whatever was done with it. Requests of test keys and of operator keys count against one more. It runs after the auth guard. Requests without a
 * principal are public: those to a route that declares a limit count per client address, the others pass. A request that
 * one limit refuses counts against none, so that a key over its limit does not use up its organization's limit.
 *
 * The throttler's decorators work as its documentation says. `@Throttle({ default: { limit, ttl } })` replaces the limit
 * of the endpoint class on its route; it counts per API key, on public routes per client address, unless it has a
 * `getTracker` or `generateKey` of its own. `@SkipThrottle()` counts nothing. Storage, headers and refusals are the same
 * for all limits.
 */
@Injectable()
export class RateLimitGuard extends ThrottlerGuard implements RequestLimits {
  private readonly plans = new Map<unknown, Plan>();

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
    const counting = this.count(context);
    return counting ? counting.then(() => true) : ADMITTED;
  }

  /** The guard's work; AccessGuard also calls it for requests that it refuses after the caller is known. */
  count(context: ExecutionContext): Promise<unknown> | undefined {
    const plan = this.planOf(context);
    if (!this.config.enabled) return this.reportUnused(context, plan);
    if (plan.usesThrottler) return super.canActivate(context);
    const request = context.switchToHttp().getRequest<Request>();
    const { principal, operator } = request;
    const nowMs = this.clock.now().getTime();
    if (operator) {
      this.admit(context, [this.operatorLimit(operator.keyId, nowMs)], nowMs);
      return undefined;
    }
    if (!principal) {
      if (plan.isDeclared) this.admit(context, [this.addressLimit(request, plan, nowMs)], nowMs);
      return undefined;
    }
    const own = [this.endpointLimit(principal, plan, nowMs), ...this.sharedLimit(principal, plan, nowMs)];
    this.admit(context, [...own, ...this.overallLimits(principal, nowMs, isRead(request))], nowMs);
    return undefined;
  }

  countMessage(principal: Principal): void {
    if (!this.config.enabled) return;
    const nowMs = this.clock.now().getTime();
    const own = this.apply('send', `key:${principal.apiKeyId}:send`, nowMs);
    this.admitSilently([own, ...this.overallLimits(principal, nowMs)], nowMs);
  }

  countSignIn(keyId: string): void {
    if (!this.config.enabled) return;
    const nowMs = this.clock.now().getTime();
    this.admitSilently([this.apply('sign-ins', `key:${keyId}:sign-ins`, nowMs)], nowMs);
  }

  /** Without headers. */
  private admitSilently(applied: readonly Applied[], nowMs: number): void {
    const exceeded = longest(applied.filter(({ counter, limit }) => hitsOf(counter) >= limit));
    if (exceeded) throw refusal(exceeded, nowMs);
    for (const { counter } of applied) this.storage.hit(counter);
  }

  /** The throttler calls it for routes with its decorators, unless they skip throttling. */
  protected override async handleRequest(request: ThrottlerRequest): Promise<boolean> {
    const { context, limit, ttl, throttler } = request;
    const { principal } = context.switchToHttp().getRequest<Request>();
    const plan = this.planOf(context);
    const nowMs = this.clock.now().getTime();
    const applied = principal ? this.overallLimits(principal, nowMs) : [];
    if (plan.hasOwnLimit) {
      const key = `throttle:${await this.keyOf(request)}`;
      applied.unshift({ name: throttler.name ?? 'default', limit, counter: this.storage.counter(key, ttl, nowMs) });
    } else if (principal) {
      applied.unshift(this.endpointLimit(principal, plan, nowMs));
    }
    if (applied.length > 0) this.admit(context, applied, nowMs);
    return true;
  }

  /** Who is counted: the API key, on public routes the client address. */
  protected override getTracker(request: Request): Promise<string> {
    return Promise.resolve(request.principal?.apiKeyId ?? clientNetworkOf(clientAddressOf(request)));
  }

  private async keyOf({ context, throttler, getTracker, generateKey }: ThrottlerRequest): Promise<string> {
    const tracker = await getTracker(context.switchToHttp().getRequest<Request>(), context);
    return generateKey(context, tracker, throttler.name ?? 'default');
  }

  private admit(context: ExecutionContext, applied: readonly Applied[], nowMs: number): void {
    const response = context.switchToHttp().getResponse<Response>();
    const exceeded = longest(applied.filter(({ counter, limit }) => hitsOf(counter) >= limit));
    if (exceeded) {
      setHeaders(response, exceeded);
      throw refusal(exceeded, nowMs);
    }
    for (const { counter } of applied) this.storage.hit(counter);
    setHeaders(response, closest(applied));
  }

  /** While limits are switched off, the headers report them as unused: clients read them in every response. */
  private reportUnused(context: ExecutionContext, plan: Plan): undefined {
    const { principal, operator } = context.switchToHttp().getRequest<Request>();
    const nowMs = this.clock.now().getTime();
    const limits: Applied[] = [];
    if (operator) limits.push(this.operatorLimit(operator.keyId, nowMs));
    if (principal) limits.push(this.endpointLimit(principal, plan, nowMs), ...this.overallLimits(principal, nowMs));
    if (limits.length === 0 || plan.usesThrottler) return;
    setHeaders(context.switchToHttp().getResponse<Response>(), closest(limits));
  }

  private addressLimit(request: Request, { endpoint }: Plan, nowMs: number): Applied {
    return this.apply(endpoint, `address:${clientNetworkOf(clientAddressOf(request))}:${endpoint}`, nowMs);
  }

  private operatorLimit(keyId: string, nowMs: number): Applied {
    return this.apply('operator', `operator:${keyId}`, nowMs);
  }

  private endpointLimit({ apiKeyId }: Principal, { endpoint }: Plan, nowMs: number): Applied {
    return this.apply(endpoint, `key:${apiKeyId}:${endpoint}`, nowMs);
  }

  /** Of what costs long after its request: a new key for each would be a way around the limit of a key. */
  private sharedLimit({ organizationId }: Principal, { endpoint, isChange }: Plan, nowMs: number): Applied[] {
    if (isChange) return [this.apply('changes', `organization:${organizationId}:changes`, nowMs)];
    if (!SHARED.has(endpoint)) return [];
    const applied = this.apply(endpoint, `organization:${organizationId}:${endpoint}`, nowMs);
    return [{ ...applied, limit: applied.limit * KEYS_WORTH }];
  }

  /** A page of the console that stays open reads all the time; it must not use up what a developer's program has for its tests. */
  private overallLimits(
    { apiKeyId, organizationId, mode, isSession }: Principal,
    nowMs: number,
    isRead = false,
  ): Applied[] {
    const organization = this.apply('organization', `organization:${organizationId}`, nowMs);
    const isOfTest = mode === 'test' && !(isSession && isRead);
    return isOfTest ? [organization, this.apply('test-key', `test-key:${apiKeyId}`, nowMs)] : [organization];
  }

  private apply(name: LimitName, key: string, nowMs: number): Applied {
    const { limit, windowSeconds } = this.config.limits[name];
    const windowMs = windowSeconds * SECOND;
    const counter = this.config.enabled ? this.storage.counter(key, windowMs, nowMs) : newCounter(key, windowMs, nowMs);
    return { name, limit, counter };
  }

  private planOf(context: ExecutionContext): Plan {
    const handler = context.getHandler();
    const known = this.plans.get(handler);
    if (known) return known;
    const targets = [handler, context.getClass()];
    const keys = targets.flatMap((target) => Reflect.getMetadataKeys(target) as unknown[]).map(String);
    const declared = this.reflector.getAllAndOverride<EndpointClass | undefined>(RATE_LIMIT_CLASS_METADATA, targets);
    const { method } = context.switchToHttp().getRequest<Request>();
    const endpoint = declared ?? (isRead({ method }) ? 'reads' : 'writes');
    const plan = {
      endpoint,
      isDeclared: declared !== undefined,
      isChange: endpoint === 'writes' || this.reflector.getAllAndOverride<boolean>(CHANGE_METADATA, targets) === true,
      usesThrottler: keys.some((key) => key.startsWith(THROTTLER_PREFIX)),
      hasOwnLimit: keys.includes(OWN_LIMIT),
    };
    this.plans.set(handler, plan);
    return plan;
  }
}

function isRead({ method }: Pick<Request, 'method'>): boolean {
  return method === 'GET' || method === 'HEAD';
}

function remaining({ limit, counter }: Applied): number {
  return Math.max(0, limit - hitsOf(counter));
}

/** The limit with the fewest requests left. */
function closest(applied: readonly Applied[]): Applied {
  return applied.reduce((nearest, next) => (remaining(next) < remaining(nearest) ? next : nearest));
}

/** The exceeded limit that ends last: waiting for an earlier one would not help. */
function longest(exceeded: readonly Applied[]): Applied | undefined {
  const [first, ...others] = exceeded;
  if (!first) return undefined;
  return others.reduce((last, next) => (next.counter.windowEndMs > last.counter.windowEndMs ? next : last), first);
}

function setHeaders(response: Response, applied: Applied): void {
  response.setHeader('x-ratelimit-limit', applied.limit);
  response.setHeader('x-ratelimit-remaining', remaining(applied));
  response.setHeader('x-ratelimit-reset', applied.counter.windowEndMs / SECOND);
}

function refusal(exceeded: Applied, nowMs: number): AppError {
  const seconds = Math.max(1, Math.ceil((exceeded.counter.windowEndMs - nowMs) / SECOND));
  return new AppError('rate_limit_exceeded', `Rate limit exceeded. Retry after ${seconds} seconds`, {
    retryAfterSeconds: seconds,
    details: { limit: exceeded.limit, scope: exceeded.name },
    suggestion: 'Wait for the time in Retry-After, then retry with exponential backoff and jitter',
  });
}
