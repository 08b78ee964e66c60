import { FakeClock } from '../../../test/doubles/fake-clock';
import { BriefCache, endsWithin, SingleFlight, unlessAborted, within } from './promises';

describe('within', () => {
  it('passes on a result and a failure', async () => {
    await expect(within(Promise.resolve(1), 60_000)).resolves.toBe(1);
    await expect(within(Promise.reject(new Error('no')), 60_000)).rejects.toThrow('no');
  });

  it('gives up on what takes too long', async () => {
    await expect(within(new Promise(() => undefined), 1)).rejects.toThrow('timeout after 1 ms');
  });
});

describe('endsWithin', () => {
  it('returns whether something ended, by success or failure', async () => {
    expect(await endsWithin(Promise.resolve(), 60_000)).toBe(true);
    expect(await endsWithin(Promise.reject(new Error('no')), 60_000)).toBe(true);
    expect(await endsWithin(new Promise(() => undefined), 1)).toBe(false);
  });
});

describe('unlessAborted', () => {
  it('passes on a result and a failure', async () => {
    const { signal } = new AbortController();
    await expect(unlessAborted(Promise.resolve(1), signal)).resolves.toBe(1);
    await expect(unlessAborted(Promise.resolve(1), undefined)).resolves.toBe(1);
    await expect(unlessAborted(Promise.reject(new Error('no')), signal)).rejects.toThrow('no');
  });

  it('waits no longer once the signal is aborted, before or meanwhile', async () => {
    const ending = new AbortController();
    const waiting = unlessAborted(new Promise(() => undefined), ending.signal);
    ending.abort(new Error('the end'));
    await expect(waiting).rejects.toThrow('the end');
    await expect(unlessAborted(new Promise(() => undefined), ending.signal)).rejects.toThrow('the end');
  });
});

describe('SingleFlight', () => {
  it('asks once for all who wait, per key', async () => {
    const flight = new SingleFlight<number>();
    let asked = 0;
    const ask = () => Promise.resolve((asked += 1));
    expect(await Promise.all([flight.run('a', ask), flight.run('a', ask), flight.run('b', ask)])).toEqual([1, 1, 2]);
    expect(await flight.run('a', ask)).toBe(3);
  });

  it('forgets failures', async () => {
    const flight = new SingleFlight<number>();
    const failing = () => Promise.reject(new Error('no'));
    const both = await Promise.allSettled([flight.run('a', failing), flight.run('a', failing)]);
    expect(both.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    expect(await flight.run('a', () => Promise.resolve(1))).toBe(1);
  });
});

describe('BriefCache', () => {
  const clock = new FakeClock();

  it('asks once for all who ask meanwhile, and again when the answer is old', async () => {
    let asked = 0;
    const cache = new BriefCache(() => Promise.resolve((asked += 1)), 2_000, clock);
    expect(await Promise.all([cache.get(), cache.get()])).toEqual([1, 1]);
    clock.advance(1_999);
    expect(await cache.get()).toBe(1);
    clock.advance(1);
    expect(await cache.get()).toBe(2);
  });

  it('does not ask again while a slow answer is under way', async () => {
    let answer: (value: string) => void = () => undefined;
    let asked = 0;
    const cache = new BriefCache(
      () => {
        asked += 1;
        return new Promise<string>((resolve) => (answer = resolve));
      },
      2_000,
      clock,
    );
    const first = cache.get();
    clock.advance(60_000);
    const second = cache.get();
    answer('late');
    expect([await first, await second, asked]).toEqual(['late', 'late', 1]);
  });

  it('remembers a failure like an answer', async () => {
    let asked = 0;
    const cache = new BriefCache(() => Promise.reject(new Error(`no. ${(asked += 1)}`)), 2_000, clock);
    await expect(cache.get()).rejects.toThrow('no. 1');
    await expect(cache.get()).rejects.toThrow('no. 1');
    clock.advance(2_000);
    await expect(cache.get()).rejects.toThrow('no. 2');
  });
});
