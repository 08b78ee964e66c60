import { AsyncLocalStorage } from 'node:async_hooks';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { SharedTurns } from './shared-turns';

describe('SharedTurns', () => {
  let nowMs: number;
  let turns: SharedTurns;
  beforeEach(() => {
    nowMs = 0;
    turns = new SharedTurns(() => nowMs);
  });

  /** A piece that takes a millisecond. */
  const piece = (done: string[], name: string) => (): void => {
    nowMs += 1;
    done.push(name);
  };

  it('does at once what a turn has time for, and the rest in next turns', async () => {
    const done: string[] = [];
    for (let index = 0; index < 100; index += 1) turns.run('a', piece(done, 'a'));
    expect(done).toHaveLength(5);
    const perTurn: number[] = [];
    while (done.length < 100) {
      const before = done.length;
      await nextTurn();
      perTurn.push(done.length - before);
    }
    expect(Math.max(...perTurn)).toBeLessThanOrEqual(5);
    await nextTurn();
    expect(turns.isFree()).toBe(true);
  });

  it('does what waits before what comes, holders in rotation', async () => {
    const done: string[] = [];
    for (const name of ['a', 'a', 'a', 'a', 'a', 'a1', 'a2', 'a3']) turns.run('a', piece(done, name));
    turns.run('b', piece(done, 'b1'));
    nowMs += 100;
    expect(turns.isFree()).toBe(false);
    while (done.length < 9) await nextTurn();
    expect(done.slice(5)).toEqual(['a1', 'b1', 'a2', 'a3']);
  });

  it('does each piece in the context of its caller, whoever else waits', async () => {
    const context = new AsyncLocalStorage<string>();
    const seen: (string | undefined)[] = [];
    while (turns.isFree()) nowMs += 1;
    const note = () => (): unknown => seen.push(context.getStore());
    context.run('a request', () => turns.run('a', note()));
    turns.run('b', note());
    context.run('another', () => turns.run('c', note()));
    while (seen.length < 3) await nextTurn();
    expect(seen).toEqual(['a request', undefined, 'another']);
  });

  it('does few pieces in a turn, however short they are', async () => {
    let count = 0;
    nowMs = 0;
    while (turns.isFree()) nowMs += 1;
    for (let index = 0; index < 1_000; index += 1) void turns.next('a').then(() => (count += 1));
    await nextTurn();
    await nextTurn();
    await nextTurn();
    expect(count).toBeLessThan(200);
    while (count < 1_000) await nextTurn();
  });
});
