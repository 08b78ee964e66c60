import fc from 'fast-check';
import { EventEmitter } from 'node:events';
import type { Response } from 'express';
import { BodyBudget, holdUntilRead } from './request-body';

describe('BodyBudget', () => {
  it('gives one holder half, and always leaves room for the next', () => {
    const budget = new BodyBudget(120);
    expect(budget.take('a', 61)).toBe(false);
    expect(budget.take('a', 60)).toBe(true);
    expect(budget.take('a', 1)).toBe(false);
    expect(budget.take('b', 30)).toBe(true);
    expect(budget.take('c', 15)).toBe(true);
    budget.give('a', 60);
    expect(budget.take('c', 22)).toBe(true);
  });

  it('refuses a holder beyond its share as its own doing, and one within it as that of others', () => {
    const budget = new BodyBudget(120);
    expect(budget.refusal('a', 61, 'things')).toMatchObject({ code: 'rate_limit_exceeded', retryAfterSeconds: 1 });
    budget.take('a', 60);
    budget.take('b', 30);
    budget.take('c', 15);
    expect(budget.take('c', 10)).toBe(false);
    expect(budget.refusal('c', 10, 'things')).toMatchObject({ code: 'service_unavailable' });
    expect(budget.refusal('a', 1, 'things')).toMatchObject({ code: 'rate_limit_exceeded' });
    expect(budget.refusal('d', 20, 'things')).toMatchObject({ code: 'service_unavailable' });
  });

  it('never holds more than it may, and is empty again when all was given back', () => {
    const step = fc.record({ holder: fc.constantFrom('a', 'b', 'c'), bytes: fc.nat(50) });
    fc.assert(
      fc.property(fc.array(step), (steps) => {
        const budget = new BodyBudget(100);
        const taken = steps.filter(({ holder, bytes }) => budget.take(holder, bytes));
        expect(taken.reduce((sum, { bytes }) => sum + bytes, 0)).toBeLessThanOrEqual(100);
        for (const { holder, bytes } of taken) budget.give(holder, bytes);
        expect(budget.take('a', 50)).toBe(true);
      }),
    );
  });
});

describe('a response that its client does not read', () => {
  beforeEach(() => jest.useFakeTimers());
  afterEach(() => jest.useRealTimers());

  it('holds its memory for half a minute, and a second more for every 32 kB', () => {
    const budget = new BodyBudget(8_000_000);
    const response = Object.assign(new EventEmitter(), { destroyed: false, destroy: () => response.emit('close') });
    holdUntilRead(budget, 'a', 3_200_000, response as unknown as Response);
    jest.advanceTimersByTime(129_999);
    expect(budget.take('a', 4_000_000)).toBe(false);
    jest.advanceTimersByTime(1);
    expect(budget.take('a', 4_000_000)).toBe(true);
  });
});
