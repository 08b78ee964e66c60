import fc from 'fast-check';
import { EventEmitter } from 'node:events';
import { Readable } from 'node:stream';
import type { Request, Response } from 'express';
import { ClientGoneError } from '../../errors/app-error';
import { BodyBudget, holdUntilRead, readBody, releaseBody, ResponseMemory } from './request-body';

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

describe('a body whose client stops', () => {
  const KIB = 1024;
  const anUpload = (bodyBudget: BodyBudget): Request =>
    Object.assign(new Readable({ read: () => undefined }), {
      ...{ headers: {}, complete: false, awaitsContinue: false },
      ...{ bodyBudget, heldBytes: 0, bodyHolder: 'a' },
    }) as unknown as Request;

  it('counts as far as it has come, if that is more than little', async () => {
    const budget = new BodyBudget(1_024 * KIB);
    const uploads = Array.from({ length: 12 }, () => anUpload(budget));
    const read = uploads.map(async (upload) => {
      const body = readBody(upload, 64 * KIB);
      upload.push(Buffer.alloc(32 * KIB));
      expect(upload.heldBytes).toBe(0);
      upload.push(Buffer.alloc(16 * KIB));
      return body;
    });
    // Half of the memory: ten of 48 KiB.
    for (const body of read.slice(10)) await expect(body).rejects.toMatchObject({ code: 'rate_limit_exceeded' });
    for (const upload of uploads.slice(0, 10)) releaseBody(upload);
    expect(budget.take('a', 512 * KIB)).toBe(true);
  });
});

function aResponse(destroyed = false): Response {
  const response = Object.assign(new EventEmitter(), { destroyed, destroy: () => response.emit('close') });
  return response as unknown as Response;
}

describe('the memory of a response', () => {
  it('counts what is read and what is written of it, then what is written', () => {
    const budget = new BodyBudget(8_000_000);
    const [response, memory] = [aResponse(), new BodyBudget(0)];
    const own = new ResponseMemory(budget, 'a', response);
    own.reading(1_000_000);
    own.writing(2_000_000);
    expect(budget.take('a', 1_000_001)).toBe(false);
    own.set(2_000_000);
    expect(budget.take('a', 2_000_001)).toBe(false);
    expect(() => own.writing(3_000_001)).toThrow(expect.objectContaining({ code: 'rate_limit_exceeded' }) as Error);
    expect(budget.take('a', 2_000_000)).toBe(true);
    response.emit('close');
    expect(budget.take('a', 2_000_000)).toBe(true);
    expect(() => new ResponseMemory(memory, 'a', aResponse()).reading(300_000)).toThrow();
  });

  it('is not taken for a client that has gone', () => {
    const own = new ResponseMemory(new BodyBudget(8_000_000), 'a', aResponse(true));
    expect(() => own.reading(1_000_000)).toThrow(ClientGoneError);
  });
});

describe('a response that its client does not read', () => {
  beforeEach(() => jest.useFakeTimers());
  afterEach(() => jest.useRealTimers());

  it('holds its memory for half a minute, and a second more for every 32 kB', () => {
    const budget = new BodyBudget(8_000_000);
    holdUntilRead(budget, 'a', 3_200_000, aResponse());
    jest.advanceTimersByTime(129_999);
    expect(budget.take('a', 4_000_000)).toBe(false);
    jest.advanceTimersByTime(1);
    expect(budget.take('a', 4_000_000)).toBe(true);
  });
});
