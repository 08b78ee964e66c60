import fc from 'fast-check';
import { waitFor } from '../../../test/setup/wait-for';
import { MicroBatcher, type MicroBatcherOptions } from './micro-batcher';

/** Its batches stay under way until `finish`. */
function withHeldBatches(options: MicroBatcherOptions<number>) {
  const sizes: number[] = [];
  const held: (() => void)[] = [];
  const batcher = new MicroBatcher<number, number>(async (batch) => {
    sizes.push(batch.length);
    await new Promise<void>((resolve) => held.push(resolve));
    return batch;
  }, options);
  const finish = () => {
    for (const release of held) release();
  };
  return { batcher, sizes, finish };
}

describe('MicroBatcher', () => {
  it('gives every caller its own result, whatever the weights', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.nat({ max: 30 }), { maxLength: 60 }),
        fc.integer({ min: 1, max: 20 }),
        fc.integer({ min: 1, max: 3 }),
        async (items, maxWeight, concurrency) => {
          const batches: number[][] = [];
          const batcher = new MicroBatcher<number, number>(
            (batch) => {
              batches.push(batch);
              return Promise.resolve(batch.map((item) => item * 2));
            },
            { maxWeight, weightOf: (item) => item, concurrency },
          );
          const results = await Promise.all(items.map((item) => batcher.add(item)));
          expect(results).toEqual(items.map((item) => item * 2));
          expect(batches.flat().sort()).toEqual([...items].sort());
          for (const batch of batches.filter((group) => group.length > 1)) {
            expect(batch.reduce((sum, item) => sum + item, 0)).toBeLessThanOrEqual(maxWeight);
          }
        },
      ),
      { numRuns: 60 },
    );
  });

  it('gathers what arrives while a batch runs', async () => {
    const sizes: number[] = [];
    let release: () => void = () => undefined;
    const gate = new Promise<void>((resolve) => (release = resolve));
    const batcher = new MicroBatcher<number, number>(
      async (batch) => {
        sizes.push(batch.length);
        if (sizes.length === 1) await gate;
        return batch;
      },
      { maxWeight: 100, concurrency: 1 },
    );
    const first = batcher.add(0);
    await new Promise((resolve) => setImmediate(resolve));
    const rest = Array.from({ length: 10 }, (_, index) => batcher.add(index));
    release();
    await Promise.all([first, ...rest]);
    expect(sizes).toEqual([1, 10]);
  });

  it('starts a second batch when its share has gathered, or when the first one takes long', async () => {
    const { batcher, sizes, finish } = withHeldBatches({ maxWeight: 3, concurrency: 3 });
    const all = [batcher.add(1)];
    await waitFor(() => sizes.length === 1, { what: 'a batch' });
    all.push(batcher.add(2), batcher.add(3));
    await new Promise((resolve) => setImmediate(resolve));
    expect(sizes).toEqual([1]);
    all.push(batcher.add(4));
    await waitFor(() => sizes.length === 2, { what: 'a batch' });
    all.push(batcher.add(5));
    await waitFor(() => sizes.length === 3, { what: 'a batch' });
    expect(sizes).toEqual([1, 3, 1]);
    finish();
    await expect(Promise.all(all)).resolves.toEqual([1, 2, 3, 4, 5]);
  });

  it('divides what is under way among the batches that may run', async () => {
    const { batcher, sizes, finish } = withHeldBatches({ maxWeight: 100, concurrency: 2 });
    const numbers = Array.from({ length: 60 }, (_, index) => index);
    const all = Promise.all(numbers.map((number) => batcher.add(number)));
    await waitFor(() => sizes.length === 2, { what: 'two batches' });
    expect(sizes).toEqual([30, 30]);
    finish();
    await expect(all).resolves.toEqual(numbers);
  });

  it('takes the items of several holders in turn', async () => {
    const batches: string[][] = [];
    const batcher = new MicroBatcher<string, string>(
      (batch) => {
        batches.push(batch);
        return Promise.resolve(batch);
      },
      { maxWeight: 3, concurrency: 1, holderOf: (item) => item.slice(0, 1) },
    );
    const names = ['a1', 'a2', 'a3', 'a4', 'a5', 'b1', 'b2', 'c1'];
    const all = Promise.all(names.map((name) => batcher.add(name)));
    expect([batcher.depth, batcher.depthOf('a'), batcher.depthOf('d')]).toEqual([8, 5, 0]);
    expect(await all).toEqual(names);
    expect(batches).toEqual([
      ['a1', 'b1', 'c1'],
      ['a2', 'b2', 'a3'],
      ['a4', 'a5'],
    ]);
    expect([batcher.depth, batcher.depthOf('a')]).toEqual([0, 0]);
  });

  it('waits for more even when nothing is running, where the result is not waited for', async () => {
    const patience = { weight: 3, ms: 60_000, always: true };
    const { batcher, sizes, finish } = withHeldBatches({ maxWeight: 10, concurrency: 1, patience });
    const all = [batcher.add(1), batcher.add(2)];
    await new Promise((resolve) => setImmediate(resolve));
    expect(sizes).toEqual([]);
    all.push(batcher.add(3));
    await waitFor(() => sizes.length === 1, { what: 'a batch' });
    expect(sizes).toEqual([3]);
    finish();
    await expect(Promise.all(all)).resolves.toEqual([1, 2, 3]);
  });

  it('waits for a while only', async () => {
    const { batcher, sizes, finish } = withHeldBatches({
      maxWeight: 10,
      concurrency: 1,
      patience: { weight: 3, ms: 1, always: true },
    });
    const one = batcher.add(1);
    await waitFor(() => sizes.length === 1, { what: 'a batch' });
    finish();
    await expect(one).resolves.toBe(1);
  });

  it('rejects the callers of a failed batch and serves the next', async () => {
    let failing = true;
    const batcher = new MicroBatcher<number, number>(
      (batch) => (failing ? Promise.reject(new Error('down')) : Promise.resolve(batch)),
      { maxWeight: 10, concurrency: 1 },
    );
    await expect(Promise.all([batcher.add(1), batcher.add(2)])).rejects.toThrow('down');
    failing = false;
    await expect(batcher.add(3)).resolves.toBe(3);
  });

  it('makes smaller batches while they take too long, and larger ones once they succeed', async () => {
    const sizes: number[] = [];
    let most = 20;
    const batcher = new MicroBatcher<number, number>(
      (batch) => {
        sizes.push(batch.length);
        return batch.length > most ? Promise.reject(new Error('too long')) : Promise.resolve(batch);
      },
      { maxWeight: 200, concurrency: 1, tookTooLong: (error) => (error as Error).message === 'too long' },
    );
    const all = () => Promise.allSettled(Array.from({ length: 400 }, (_, item) => batcher.add(item)));
    await all();
    expect(sizes.slice(0, 5)).toEqual([200, 100, 50, 25, 25]);
    most = Infinity;
    sizes.length = 0;
    for (let round = 0; round < 9; round += 1) await all();
    expect(sizes.slice(0, 3)).toEqual([25, 32, 40]);
    expect(sizes.at(-1)).toBe(200);
  });

  it('keeps the size of its batches after any other failure', async () => {
    const sizes: number[] = [];
    const batcher = new MicroBatcher<number, number>(
      (batch) => {
        sizes.push(batch.length);
        return Promise.reject(new Error('refused'));
      },
      { maxWeight: 10, concurrency: 1, tookTooLong: () => false },
    );
    await Promise.allSettled(Array.from({ length: 40 }, (_, item) => batcher.add(item)));
    expect(sizes).toEqual([10, 10, 10, 10]);
  });
});
