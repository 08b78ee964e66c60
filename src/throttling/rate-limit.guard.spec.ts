import 'reflect-metadata';
import type { ExecutionContext } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { SkipThrottle, Throttle } from '@nestjs/throttler';
import { FakeClock } from '../../test/doubles/fake-clock';
import { AppError } from '../common/errors/app-error';
import type { Principal } from '../common/http/principal';
import { Metrics } from '../common/metrics/metrics';
import { limitsWith } from './limits';
import { CountsAsChange, RateLimitClass } from '../common/http/request/request-limits';
import { RateLimitGuard } from './rate-limit.guard';
import { SharedThrottleStorage } from './shared-throttle.storage';
import type { ThrottleHitsRepository } from './throttle-hits.repository';

class Routes {
  list(): void {}

  @RateLimitClass('send')
  send(): void {}

  @RateLimitClass('api-key-revocations')
  revoke(): void {}

  @CountsAsChange()
  download(): void {}

  change(): void {}
}

@RateLimitClass('stats')
class Stats {
  list(): void {}
}

const byTenant = ({ principal }: { principal?: Principal }) => principal?.organizationId ?? '';

class Throttled {
  @Throttle({ default: { limit: 2, ttl: 60_000 } })
  twice(): void {}

  @Throttle({ default: { limit: 2, ttl: 60_000, getTracker: byTenant } })
  twicePerTenant(): void {}

  @SkipThrottle()
  free(): void {}
}

@SkipThrottle()
class Free {
  list(): void {}

  @SkipThrottle({ default: false })
  counted(): void {}
}

const LIVE: Principal = { organizationId: 'o', apiKeyId: 'k', mode: 'live', scopes: new Set(), domainId: undefined };

function create(overrides: Record<string, number>, enabled = true) {
  const clock = new FakeClock('2026-01-05T12:00:30.000Z');
  const repository: Pick<ThrottleHitsRepository, 'record' | 'deleteExpired'> = {
    record: (batch) => Promise.resolve(batch.map(({ key, hits }) => ({ key, hits }))),
    deleteExpired: () => Promise.resolve(0),
  };
  const storage = new SharedThrottleStorage(repository as ThrottleHitsRepository, clock, new Metrics());
  const config = { enabled, limits: limitsWith(overrides) };
  const guard = new RateLimitGuard({ throttlers: [{ limit: 0, ttl: 0 }] }, storage, new Reflector(), config, clock);
  return { clock, guard, storage };
}

interface Call {
  handler?: () => void;
  class?: unknown;
  method?: string;
  operator?: { keyId: string };
  principal?: Principal | undefined;
  ip?: string;
}

/** The same for a route with the throttler's decorators, which are looked up asynchronously. */
async function passThrottled(guard: RateLimitGuard, call: Call) {
  const { context, headers } = contextOf(call);
  const error = await guard.canActivate(context).then(
    () => undefined,
    (thrown: AppError) => thrown,
  );
  return { headers, error };
}

function contextOf(call: Call) {
  const headers: Record<string, unknown> = {};
  const principal = 'principal' in call ? call.principal : LIVE;
  const request = { method: call.method ?? 'GET', principal, operator: call.operator, ip: call.ip };
  const response = { setHeader: (name: string, value: unknown) => (headers[name] = value) };
  const context = {
    getHandler: () => call.handler ?? Routes.prototype.list,
    getClass: () => call.class ?? Routes,
    switchToHttp: () => ({ getRequest: () => request, getResponse: () => response }),
  } as unknown as ExecutionContext;
  return { context, headers };
}

/** Passes one request and returns the headers it leaves and the error it ends in. */
function pass(guard: RateLimitGuard, call: Call) {
  const { context, headers } = contextOf(call);
  try {
    void guard.canActivate(context);
    return { headers, error: undefined };
  } catch (error) {
    return { headers, error: error as AppError };
  }
}

const RESET = Date.UTC(2026, 0, 5, 12, 1) / 1_000;

describe('RateLimitGuard', () => {
  it('reports the limit that is closest to being reached', () => {
    const { guard } = create({ reads: 3, organization: 4 });
    expect(pass(guard, {}).headers).toEqual({
      'x-ratelimit-limit': 3,
      'x-ratelimit-remaining': 2,
      'x-ratelimit-reset': RESET,
    });
    pass(guard, { principal: { ...LIVE, apiKeyId: 'other' } });
    pass(guard, { principal: { ...LIVE, apiKeyId: 'other' } });
    expect(pass(guard, {}).headers).toMatchObject({ 'x-ratelimit-limit': 4, 'x-ratelimit-remaining': 0 });
  });

  it('refuses what exceeds a limit until its window ends', () => {
    const { clock, guard } = create({ reads: 2 });
    pass(guard, {});
    pass(guard, {});
    const { error, headers } = pass(guard, {});
    expect(error).toBeInstanceOf(AppError);
    expect(error).toMatchObject({
      code: 'rate_limit_exceeded',
      message: 'Rate limit exceeded. Retry after 30 seconds',
      retryAfterSeconds: 30,
    });
    expect(headers).toEqual({ 'x-ratelimit-limit': 2, 'x-ratelimit-remaining': 0, 'x-ratelimit-reset': RESET });
    clock.advance(30_000);
    expect(pass(guard, {}).error).toBeUndefined();
  });

  it('counts refused requests against nothing', () => {
    const { guard } = create({ reads: 1, organization: 3 });
    for (let count = 0; count < 10; count += 1) pass(guard, {});
    expect(pass(guard, { principal: { ...LIVE, apiKeyId: 'other' } }).headers['x-ratelimit-remaining']).toBe(0);
    expect(pass(guard, { principal: { ...LIVE, apiKeyId: 'third' } }).error).toBeUndefined();
    expect(pass(guard, { principal: { ...LIVE, apiKeyId: 'fourth' } }).error?.details).toEqual({
      limit: 3,
      scope: 'organization',
    });
  });

  it('counts endpoint classes apart: declared, or by method', () => {
    const { guard } = create({ reads: 10, writes: 20, send: 30, stats: 40 });
    const limitOf = (call: Call) => pass(guard, call).headers['x-ratelimit-limit'];
    expect(limitOf({})).toBe(10);
    expect(limitOf({ method: 'HEAD' })).toBe(10);
    expect(limitOf({ method: 'POST', handler: () => undefined })).toBe(20);
    expect(limitOf({ method: 'POST', handler: Routes.prototype.send })).toBe(30);
    expect(limitOf({ class: Stats, handler: Stats.prototype.list })).toBe(40);
    expect(pass(guard, {}).headers['x-ratelimit-remaining']).toBe(7);
  });

  it('counts test keys against one more limit, whatever the endpoint', () => {
    const { guard } = create({ 'test-key': 2 });
    const principal: Principal = { ...LIVE, mode: 'test' };
    pass(guard, { principal });
    pass(guard, { principal, handler: Routes.prototype.send, method: 'POST' });
    expect(pass(guard, { principal }).error).toMatchObject({
      retryAfterSeconds: 3_570,
      details: { scope: 'test-key' },
    });
  });

  it('counts what a person at the console writes with a test key, not what a page reads', () => {
    const { guard } = create({ 'test-key': 1 });
    const principal: Principal = { ...LIVE, mode: 'test', isSession: true };
    for (let count = 0; count < 3; count += 1) expect(pass(guard, { principal }).error).toBeUndefined();
    pass(guard, { principal, handler: Routes.prototype.send, method: 'POST' });
    const more = pass(guard, { principal, handler: Routes.prototype.send, method: 'POST' });
    expect(more.error).toMatchObject({ details: { scope: 'test-key' } });
  });

  it('counts the changes of all keys of an organization together, and reads that are audited', () => {
    const { guard } = create({ changes: 2 });
    const by = (apiKeyId: string, handler: () => void, method = 'POST') =>
      pass(guard, { principal: { ...LIVE, apiKeyId }, handler, method }).error;
    const { change, download, list, revoke, send } = Routes.prototype;
    for (const key of ['a', 'b', 'c']) expect(by(key, send) ?? by(key, list, 'GET') ?? by(key, revoke)).toBeUndefined();
    expect(by('a', change) ?? by('b', download, 'GET')).toBeUndefined();
    const refusal = { code: 'rate_limit_exceeded', details: { limit: 2, scope: 'changes' }, retryAfterSeconds: 3_570 };
    expect(by('c', change)).toMatchObject(refusal);
    expect(by('c', download, 'GET')).toMatchObject(refusal);
    expect(by('c', send) ?? by('c', list, 'GET') ?? by('c', revoke)).toBeUndefined();
    const other = { ...LIVE, organizationId: 'other' };
    expect(pass(guard, { principal: other, handler: change, method: 'POST' }).error).toBeUndefined();
  });

  it('says to wait for the longest of several exceeded limits', () => {
    const { guard } = create({ reads: 1, 'test-key': 1 });
    const principal: Principal = { ...LIVE, mode: 'test' };
    pass(guard, { principal });
    expect(pass(guard, { principal }).error?.details).toEqual({ limit: 1, scope: 'test-key' });
  });

  it('leaves public requests alone, and all when limits are off', () => {
    expect(pass(create({ reads: 1 }).guard, { principal: undefined })).toEqual({ headers: {}, error: undefined });
    const { guard } = create({ reads: 1 }, false);
    pass(guard, {});
    const unused = { 'x-ratelimit-limit': 1, 'x-ratelimit-remaining': 1, 'x-ratelimit-reset': RESET };
    expect(pass(guard, {})).toEqual({ headers: unused, error: undefined });
    expect(pass(guard, { principal: undefined })).toEqual({ headers: {}, error: undefined });
    const byOperator = { principal: undefined, operator: { keyId: 'on-call' } };
    expect(pass(guard, byOperator).headers).toMatchObject({ 'x-ratelimit-limit': 600, 'x-ratelimit-remaining': 600 });
  });
});

describe("the throttler's decorators", () => {
  async function guardWith(overrides: Record<string, number>): Promise<RateLimitGuard> {
    const { guard } = create(overrides);
    await guard.onModuleInit();
    return guard;
  }

  const twice: Call = { class: Throttled, handler: Throttled.prototype.twice };
  const other: Principal = { ...LIVE, apiKeyId: 'other' };

  it('@Throttle replaces the limit of the endpoint class, per key', async () => {
    const guard = await guardWith({ reads: 1 });
    expect((await passThrottled(guard, twice)).headers).toEqual({
      'x-ratelimit-limit': 2,
      'x-ratelimit-remaining': 1,
      'x-ratelimit-reset': RESET,
    });
    await passThrottled(guard, twice);
    expect((await passThrottled(guard, twice)).error).toMatchObject({
      code: 'rate_limit_exceeded',
      message: 'Rate limit exceeded. Retry after 30 seconds',
      retryAfterSeconds: 30,
      details: { limit: 2, scope: 'default' },
    });
    expect((await passThrottled(guard, { ...twice, principal: other })).error).toBeUndefined();
    expect(pass(guard, {}).error).toBeUndefined();
  });

  it('@Throttle leaves the limit of the organization in force', async () => {
    const guard = await guardWith({ organization: 1 });
    await passThrottled(guard, twice);
    expect((await passThrottled(guard, { ...twice, principal: other })).error?.details).toEqual({
      limit: 1,
      scope: 'organization',
    });
  });

  it('@Throttle on a public route counts per client address', async () => {
    const guard = await guardWith({});
    const from = (ip: string): Call => ({ ...twice, principal: undefined, ip });
    await passThrottled(guard, from('192.0.2.1'));
    await passThrottled(guard, from('192.0.2.1'));
    expect((await passThrottled(guard, from('192.0.2.1'))).error?.code).toBe('rate_limit_exceeded');
    expect((await passThrottled(guard, from('192.0.2.2'))).error).toBeUndefined();
  });

  it('@Throttle may count by a tracker of its own', async () => {
    const guard = await guardWith({});
    const call: Call = { class: Throttled, handler: Throttled.prototype.twicePerTenant };
    await passThrottled(guard, call);
    await passThrottled(guard, { ...call, principal: other });
    expect((await passThrottled(guard, call)).error?.details).toEqual({ limit: 2, scope: 'default' });
  });

  it('@SkipThrottle counts nothing, on a route or on a controller', async () => {
    const guard = await guardWith({ reads: 1, organization: 1 });
    for (const call of [
      { class: Throttled, handler: Throttled.prototype.free },
      { class: Free, handler: Free.prototype.list },
    ]) {
      expect(await passThrottled(guard, call)).toEqual({ headers: {}, error: undefined });
      expect(await passThrottled(guard, call)).toEqual({ headers: {}, error: undefined });
    }
    const counted = { class: Free, handler: Free.prototype.counted };
    expect((await passThrottled(guard, counted)).headers['x-ratelimit-limit']).toBe(1);
    expect((await passThrottled(guard, counted)).error?.details).toEqual({ limit: 1, scope: 'reads' });
  });

  it('do nothing when limits are off', async () => {
    const { guard } = create({}, false);
    await guard.onModuleInit();
    for (let count = 0; count < 5; count += 1) expect((await passThrottled(guard, twice)).error).toBeUndefined();
  });
});
