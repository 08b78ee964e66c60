import { Logger } from '@nestjs/common';
import fc from 'fast-check';
import { HOUR } from '../../../common/clock';
import { CommitUnknownError, UnavailableError } from '../../../common/errors/app-error';
import { FakeClock } from '../../../../test/doubles/fake-clock';
import { loadConfig } from '../../../config/load-config';
import type { RestrictionsRepository, UnusedReservation } from './restrictions.repository';
import { WarmUpService } from './warm-up.service';
import { type Allowance, WarmUpBudget } from './warm-up-budget';

const now = new Date('2026-01-10T12:00:00.000Z');
const allowance = (fields: Partial<Allowance> = {}): Allowance => ({
  ...{ organizationId: 'o', domainId: 'd', name: 'acme.example', status: 'warming', pausedAt: null, pauseReason: null },
  ...{ sendingStatus: 'active', sendingReason: null, sendingSince: null, sendingLimit: null },
  ...{ limit: 20, granted: 10, usedByOthers: 10 },
  ...fields,
});

describe('a warm-up budget', () => {
  it('gives out what was granted, all or none of each email', () => {
    const budget = new WarmUpBudget([allowance()], now);
    expect(budget.charge('d', 6)).toBeUndefined();
    expect(budget.charge('d', 5)?.details).toMatchObject({ limit: 20, used: 16, requested: 5 });
    expect(budget.charge('d', 3)).toBeUndefined();
    expect(budget.unused()).toEqual([{ organizationId: 'o', domainId: 'd', recipients: 1 }]);
    budget.restart();
    expect(budget.unused()).toEqual([{ organizationId: 'o', domainId: 'd', recipients: 10 }]);
  });

  it('lets domains pass that have no limit, or that it does not know', () => {
    const budget = new WarmUpBudget([allowance({ limit: null, granted: 0 })], now);
    expect(budget.charge('d', 1_000)).toBeUndefined();
    expect(budget.charge('other', 1_000)).toBeUndefined();
    expect(budget.unused()).toEqual([]);
  });

  it('names the domains that begin', () => {
    const starting = { status: 'not_started' as const, usedByOthers: 0 };
    const all = [allowance(), allowance({ domainId: 'a', ...starting }), allowance({ domainId: 'b', ...starting })];
    const budget = new WarmUpBudget(all, now);
    for (const domainId of ['d', 'a']) budget.charge(domainId, 1);
    budget.charge('b', 11);
    expect(budget.starting().map(({ domainId }) => domainId)).toEqual(['a']);
  });

  it.each([
    ['bounces' as const, /5 % .*bounced/, /Remove/],
    ['complaints' as const, /0\.3 % .*complained/, /asked for the mail/],
  ])('tells why a domain is paused: %s', (pauseReason, message, suggestion) => {
    const pausedAt = new Date(now.getTime() - HOUR);
    const paused = allowance({ status: 'paused', limit: 0, granted: 0, pausedAt, pauseReason });
    expect(new WarmUpBudget([paused], now).charge('d', 1)).toMatchObject({
      ...{ code: 'sending_limit_exceeded', retryAfterSeconds: 23 * 3_600 },
      message: expect.stringMatching(message),
      suggestion: expect.stringMatching(suggestion),
      details: { limit: 0, used: 10, requested: 1, reason: 'warming_paused', resetsAt: '2026-01-11T11:00:00.000Z' },
    });
  });

  describe('of a domain that is held back', () => {
    const paused = { sendingStatus: 'paused' as const, sendingSince: new Date(now.getTime() - HOUR), sendingLimit: 0 };
    const refusal = (fields: Partial<Allowance>) => new WarmUpBudget([allowance(fields)], now).charge('d', 11);

    it('returns what is left to it, and what would help', () => {
      const slowed = { sendingStatus: 'slowed' as const, sendingReason: 'complaints' as const, sendingLimit: 150 };
      expect(refusal({ ...slowed, status: 'warmed', limit: 150, usedByOthers: 140 })).toMatchObject({
        code: 'sending_limit_exceeded',
        message: expect.stringMatching(/acme\.example is slowed because .*0\.3 % .*150 recipients today/),
        details: {
          ...{ limit: 150, used: 140, requested: 11, reason: 'sending_slowed', resetsAt: '2026-01-11T00:00:00.000Z' },
        },
        suggestion: expect.stringMatching(/unsubscribing easy; it may send to 150 recipients a day/),
        retryAfterSeconds: 12 * 3_600,
      });
    });

    it('returns when a pause is over', () => {
      expect(refusal({ ...paused, sendingReason: 'bounces', limit: 0, granted: 0 })).toMatchObject({
        details: { limit: 0, reason: 'sending_paused', resetsAt: '2026-01-11T11:00:00.000Z' },
        suggestion: expect.stringMatching(/confirmed ones only; .* a day after the pause/),
      });
    });

    it('promises nothing for a pause of the operator', () => {
      const error = refusal({ ...paused, sendingReason: 'operator', limit: 0, granted: 0 });
      expect(error?.details).toEqual({ limit: 0, used: 10, requested: 11, reason: 'sending_paused' });
      expect(error?.suggestion).toMatch(/Ask the operator/);
      expect(error?.retryAfterSeconds).toBeUndefined();
    });

    it('names the warm-up where that leaves less', () => {
      const slowed = { sendingStatus: 'slowed' as const, sendingReason: 'bounces' as const, sendingLimit: 150 };
      expect(refusal(slowed)?.details).toMatchObject({ limit: 20, reason: 'warming' });
    });
  });

  it('never gives out more than was granted', () => {
    fc.assert(
      fc.property(fc.nat(100), fc.array(fc.integer({ min: 1, max: 50 })), (granted, requests) => {
        const budget = new WarmUpBudget([allowance({ limit: 100, granted, usedByOthers: 0 })], now);
        const taken = requests.filter((requested) => !budget.charge('d', requested));
        const sum = taken.reduce((total, requested) => total + requested, 0);
        expect(sum).toBeLessThanOrEqual(granted);
        expect(budget.unused().reduce((total, { recipients }) => total + recipients, sum)).toBe(granted);
      }),
    );
  });
});

describe('unused reservations', () => {
  it.each([
    ['are given back with the next ones when that fails', new UnavailableError(), ['d', 'e']],
    ['are given back once when that may have happened', new CommitUnknownError(new Error('lost')), ['e']],
  ])('%s', async (_what, failure, then) => {
    jest.spyOn(Logger.prototype, 'warn').mockReturnValue();
    const given: UnusedReservation[][] = [];
    const returnUnused = (unused: UnusedReservation[]): Promise<void> => {
      given.push(unused);
      return given.length === 1 ? Promise.reject(failure) : Promise.resolve();
    };
    const repository = { returnUnused } as unknown as RestrictionsRepository;
    const service = new WarmUpService(
      loadConfig({ MASTER_KEY: Buffer.alloc(32).toString('base64') }),
      repository,
      new FakeClock(),
    );
    await service.settle(new WarmUpBudget([allowance()], now));
    await service.settle(new WarmUpBudget([allowance({ domainId: 'e' })], now));
    expect(given[1]?.map(({ domainId }) => domainId)).toEqual(then);
  });
});
