import { FakeClock } from '../../../test/doubles/fake-clock';
import { BriefCache } from './brief-cache';

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
