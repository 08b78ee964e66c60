import { TooManyAtATimeError } from '../errors/app-error';
import { FairLimit } from './fair-turns';

/** Work that goes on until it is let go. */
function start(limit: FairLimit, holder: string, count: number) {
  const running: (() => void)[] = [];
  const results = Array.from({ length: count }, () =>
    limit.run(holder, () => new Promise<void>((resolve) => running.push(resolve))),
  );
  return { running, results };
}

const settled = () => new Promise((resolve) => setImmediate(resolve));

describe('FairLimit', () => {
  it('runs few of one holder at a time, and another one’s beside them', async () => {
    const limit = new FairLimit(Infinity, { atATime: 2, waiting: 10 });
    const [many, other] = [start(limit, 'a', 5), start(limit, 'b', 1)];
    await settled();
    expect([many.running.length, other.running.length]).toEqual([2, 1]);
    many.running[0]?.();
    await settled();
    expect(many.running).toHaveLength(3);
  });

  it('runs one of each by itself, and refuses what waits too long', async () => {
    const limit = new FairLimit(4);
    const { running, results } = start(limit, 'a', 22);
    await expect(results.at(-1)).rejects.toThrow(TooManyAtATimeError);
    await settled();
    expect(running).toHaveLength(1);
  });
});
