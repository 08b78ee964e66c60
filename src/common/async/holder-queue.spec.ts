import fc from 'fast-check';
import { HolderQueue } from './holder-queue';

interface Item {
  readonly holder: string;
  readonly number: number;
}

describe('HolderQueue', () => {
  function filled(holders: readonly string[]): { queue: HolderQueue<Item>; items: Item[] } {
    const queue = new HolderQueue<Item>();
    const items = holders.map((holder, number) => ({ holder, number }));
    for (const item of items) queue.add(item.holder, item);
    return { queue, items };
  }

  it('gives holders turns, and each its own items in order', () => {
    const { queue } = filled(['a', 'a', 'a', 'b', 'c', 'b']);
    const taken = Array.from({ length: 7 }, () => queue.take()?.number);
    expect(taken).toEqual([0, 3, 4, 1, 5, 2, undefined]);
  });

  it('leaves holders in their place that may not take', () => {
    const { queue } = filled(['a', 'b', 'a']);
    expect(queue.take((holder) => holder !== 'a')?.number).toBe(1);
    expect(queue.take((_holder, { number }) => number > 0)).toBeUndefined();
    expect(queue.take()?.number).toBe(0);
  });

  it('removes items anywhere, once', () => {
    const { queue, items } = filled(['a', 'a', 'b']);
    expect([queue.remove('a', items[1] as Item), queue.remove('a', items[1] as Item)]).toEqual([true, false]);
    expect([queue.size, queue.sizeOf('a'), queue.sizeOf('c')]).toEqual([2, 1, 0]);
    expect(queue.takeAll()).toEqual([items[0], items[2]]);
    expect([queue.size, queue.take()]).toEqual([0, undefined]);
  });

  it('loses nothing, and no holder waits for two items of another one', () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom('a', 'b', 'c', 'd'), { maxLength: 60 }), (holders) => {
        const { queue, items } = filled(holders);
        const taken: Item[] = [];
        for (let item = queue.take(); item; item = queue.take()) {
          taken.push(item);
          expect(queue.size).toBe(items.length - taken.length);
        }
        expect([...taken].sort((one, other) => one.number - other.number)).toEqual(items);
        taken.forEach((item, at) => {
          const next = taken.findIndex(({ holder }, index) => index > at && holder === item.holder);
          const between = taken.slice(at + 1, next === -1 ? at + 1 : next).map(({ holder }) => holder);
          expect(new Set(between).size).toBe(between.length);
        });
      }),
    );
  });
});
