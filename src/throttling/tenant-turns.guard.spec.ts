import { EventEmitter } from 'node:events';
import type { ExecutionContext } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { ClientGoneError } from '../common/errors/app-error';
import { OWN_TURNS_METADATA } from '../common/http/request/request-limits';
import type { AppConfig } from '../config/config';
import { TenantTurnsGuard } from './tenant-turns.guard';

const configOf = (poolSize: number) => ({ database: { poolSize } }) as AppConfig;

describe('TenantTurnsGuard', () => {
  class FakeResponse extends EventEmitter {
    destroyed = false;
    headersSent = false;
  }

  interface Asked {
    readonly method: string;
    readonly principal: object;
    onResponded?: () => void;
  }

  const CONFIG = configOf(6);

  function ask(guard: TenantTurnsGuard, method = 'GET', hasOwnTurns = false, hasGone = false) {
    const handler = (): void => undefined;
    if (hasOwnTurns) Reflect.defineMetadata(OWN_TURNS_METADATA, true, handler);
    const response = new FakeResponse();
    response.destroyed = hasGone;
    const request: Asked = { method, principal: { organizationId: 'a' } };
    const http = { getRequest: () => request, getResponse: () => response };
    const answer = guard.canActivate({
      switchToHttp: () => http,
      getHandler: () => handler,
    } as unknown as ExecutionContext);
    return { request, response, answer };
  }

  it.each([3, 4, 5, 10, 20, 200])('leaves others connections of a pool of %i', (poolSize) => {
    const guard = new TenantTurnsGuard(new Reflector(), configOf(poolSize));
    const methods = ['GET', 'POST'].flatMap((method) => Array<string>(poolSize).fill(method));
    const begun = methods.filter((method) => ask(guard, method).answer === true).length;
    expect(begun).toBeGreaterThanOrEqual(2);
    expect(begun).toBeLessThan(poolSize);
    expect(begun).toBeLessThanOrEqual(Math.ceil(poolSize * 0.75));
  });

  it('holds a turn until the answer, also of a client that has gone', async () => {
    const guard = new TenantTurnsGuard(new Reflector(), CONFIG);
    const [first, second, third] = [ask(guard), ask(guard), ask(guard)];
    expect([first.answer, second.answer]).toEqual([true, true]);
    expect(third.answer).toBeInstanceOf(Promise);
    expect([ask(guard, 'POST').answer, ask(guard, 'DELETE').answer]).toEqual([true, true]);
    expect(ask(guard, 'POST').answer).toBeInstanceOf(Promise);
    expect(ask(guard, 'POST', true).answer).toBe(true);
    first.response.emit('close');
    expect(ask(guard).answer).toBeInstanceOf(Promise);
    first.request.onResponded?.();
    await expect(third.answer).resolves.toBe(true);
  });

  it('ends the turn of an answer that breaks off, once', () => {
    const guard = new TenantTurnsGuard(new Reflector(), CONFIG);
    const [first] = [ask(guard), ask(guard)];
    first.response.headersSent = true;
    first.response.emit('close');
    first.request.onResponded?.();
    expect(ask(guard).answer).toBe(true);
    expect(ask(guard).answer).toBeInstanceOf(Promise);
  });

  it('begins nothing for a client that has gone while it waited', async () => {
    const guard = new TenantTurnsGuard(new Reflector(), CONFIG);
    const [first, , third] = [ask(guard), ask(guard), ask(guard)];
    third.response.emit('close');
    await expect(third.answer).rejects.toThrow(ClientGoneError);
    expect(() => ask(guard, 'GET', false, true)).toThrow(ClientGoneError);
    first.request.onResponded?.();
    expect(ask(guard).answer).toBe(true);
  });
});
