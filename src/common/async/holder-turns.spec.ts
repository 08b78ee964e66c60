import { setImmediate as turn } from 'node:timers/promises';
import { ClientGoneError, TooManyAtATimeError } from '../errors/app-error';
import { HolderQueue, HolderTurns, leavingOthers, OwnerQueue } from './holder-turns';
import fc from 'fast-check';

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
        expectRotation(taken, ({ holder }) => holder);
      }),
    );
  });
});

describe('OwnerQueue', () => {
  const holder = fc.tuple(fc.constantFrom('2001:db8:1', '2001:db8:2', '203.0.113', 'an organization'), fc.nat(3));

  it('loses nothing, and no owner waits for two items of another one, nor a network for two of one beside it', () => {
    fc.assert(
      fc.property(fc.array(holder, { maxLength: 60 }), (holders) => {
        const queue = new OwnerQueue<{ owner: string; network: string; number: number }>();
        const items = holders.map(([owner, host], number) => {
          const separator = owner.includes(':') ? ':' : '.';
          return { owner, network: owner.includes(' ') ? owner : `${owner}${separator}${host}`, number };
        });
        for (const item of items) queue.add(item.network, item);
        const taken = items.map(() => queue.take() as (typeof items)[number]);
        expect([queue.size, queue.take()]).toEqual([0, undefined]);
        expect([...taken].sort((one, other) => one.number - other.number)).toEqual(items);
        expectRotation(taken, ({ owner }) => owner);
        for (const { owner } of items) {
          expectRotation(
            taken.filter((item) => item.owner === owner),
            ({ network }) => network,
          );
        }
      }),
    );
  });
});

/** Between two of one holder there is at most one of each other. */
function expectRotation<T>(taken: readonly T[], holderOf: (item: T) => string): void {
  taken.forEach((item, at) => {
    const next = taken.findIndex((other, index) => index > at && holderOf(other) === holderOf(item));
    const between = taken.slice(at + 1, next === -1 ? at + 1 : next).map(holderOf);
    expect(new Set(between).size).toBe(between.length);
  });
}

describe('HolderTurns', () => {
  /** Begins reads and tells which have begun. */
  function begin(turns: HolderTurns, organizationId: string, count: number): { begun: number } {
    const state = { begun: 0 };
    for (let index = 0; index < count; index += 1) {
      const waits = turns.begin(organizationId);
      if (waits) void waits.then(() => (state.begun += 1));
      else state.begun += 1;
    }
    return state;
  }

  it('gives one organization half of all, and another one its turn at once', () => {
    const turns = new HolderTurns(leavingOthers(8), 500);
    expect(begin(turns, 'a', 60).begun).toBe(4);
    expect(begin(turns, 'b', 60).begun).toBe(2);
    expect(begin(turns, 'c', 1).begun).toBe(1);
  });

  it('begins what waits in turn, and forgets who has ended', async () => {
    const turns = new HolderTurns(leavingOthers(4), 500);
    const [a, b] = [begin(turns, 'a', 10), begin(turns, 'b', 2)];
    for (let index = 0; index < 12; index += 1) {
      turns.end(index < 10 ? 'a' : 'b');
      await Promise.resolve();
    }
    expect([a.begun, b.begun]).toEqual([10, 2]);
    expect(begin(turns, 'a', 3).begun).toBe(2);
  });

  it('leaves each organization one, whatever others hold, where that is wanted', () => {
    const turns = new HolderTurns(leavingOthers(5, 1), 500);
    expect(['a', 'b', 'c'].map((name) => begin(turns, name, 9).begun)).toEqual([3, 1, 1]);
    expect(['d', 'e', 'f'].map((name) => begin(turns, name, 9).begun)).toEqual([1, 1, 1]);
    expect(begin(new HolderTurns(leavingOthers(1), 500), 'a', 9).begun).toBe(1);
  });

  it('refuses what would wait too long', () => {
    const turns = new HolderTurns(leavingOthers(4), 500);
    begin(turns, 'a', 502);
    expect(() => turns.begin('a')).toThrow(TooManyAtATimeError);
    expect(turns.begin('b')).toBeUndefined();
  });

  it('forgets what waits once its client has gone, and begins what is behind it', async () => {
    const turns = new HolderTurns(leavingOthers(2), 1);
    const gone = new AbortController();
    turns.enter('a');
    const left = turns.begin('a', gone.signal);
    expect(() => turns.begin('a')).toThrow(TooManyAtATimeError);
    gone.abort();
    await expect(left).rejects.toThrow(ClientGoneError);
    const behind = turns.begin('a');
    turns.end('a');
    await behind;
    expect(() => turns.begin('b', gone.signal)).toThrow(ClientGoneError);
    expect(turns.waitingOf('a')).toBe(0);
  });

  it('begins nothing twice for a client that goes while its work is done', async () => {
    const turns = new HolderTurns(leavingOthers(2), 9);
    const gone = new AbortController();
    const done: string[] = [];
    turns.enter('a');
    const work = turns.run('a', async () => void done.push('begun', await turn('ended')), gone.signal);
    turns.end('a');
    gone.abort();
    await work;
    expect(done).toEqual(['begun', 'ended']);
    expect(turns.begin('a')).toBeUndefined();
  });

  it('begins what another holder waits for before the next of one that has just ended', async () => {
    const turns = new HolderTurns((_own, total) => total < 1, 9);
    const begun: string[] = [];
    const work = ['a', 'a', 'a', 'b', 'c'].map((name) => turns.run(name, () => Promise.resolve(begun.push(name))));
    await Promise.all(work);
    expect(begun).toEqual(['a', 'b', 'c', 'a', 'a']);
  });

  it('lets in beyond a share what must not wait', () => {
    const turns = new HolderTurns(leavingOthers(2), 9);
    expect(turns.begin('a')).toBeUndefined();
    turns.enter('a');
    expect(turns.begin('b')).toBeInstanceOf(Promise);
    turns.end('a');
    turns.end('a');
    expect(turns.waitingOf('b')).toBe(0);
  });
});
