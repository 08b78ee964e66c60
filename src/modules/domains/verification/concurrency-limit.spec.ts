import { setImmediate as turn } from 'node:timers/promises';
import { ConcurrencyLimit } from './concurrency-limit';

describe('a concurrency limit', () => {
  it('runs only so much at a time, in the order in which it came, failures included', async () => {
    const limit = new ConcurrencyLimit(2);
    const started: number[] = [];
    let running = 0;
    let most = 0;
    const work = async (index: number) => {
      started.push(index);
      most = Math.max(most, (running += 1));
      await turn();
      running -= 1;
      if (index === 1) throw new Error('failed');
      return index;
    };
    const results = await Promise.allSettled([0, 1, 2, 3, 4].map((index) => limit.run(() => work(index))));
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled', 'fulfilled', 'fulfilled']); // prettier-ignore
    expect(started).toEqual([0, 1, 2, 3, 4]);
    expect(most).toBe(2);
    expect(await limit.run(() => work(5))).toBe(5);
  });
});
