import fc from 'fast-check';
import { hitsOf, WindowCounters } from './window-counters';

const MINUTE_MS = 60_000;

describe('WindowCounters', () => {
  it('aligns windows to the epoch', () => {
    const counter = new WindowCounters(10).current('a', MINUTE_MS, 90_500);
    expect([counter.windowStartMs, counter.windowEndMs]).toEqual([60_000, 120_000]);
  });

  it('begins anew in the next window, and when the clock is turned back', () => {
    const counters = new WindowCounters(10);
    counters.hit(counters.current('a', MINUTE_MS, 59_999));
    expect(hitsOf(counters.current('a', MINUTE_MS, 59_999))).toBe(1);
    expect(hitsOf(counters.current('a', MINUTE_MS, 60_000))).toBe(0);
    counters.hit(counters.current('a', MINUTE_MS, 60_000));
    expect(hitsOf(counters.current('a', MINUTE_MS, 59_999))).toBe(0);
  });

  it('adds what others have counted once it has read it', () => {
    const counters = new WindowCounters(10);
    const counter = counters.current('a', MINUTE_MS, 0);
    counters.hit(counter);
    const flushes = counters.beginFlush(10);
    counters.hit(counter);
    expect(hitsOf(counter)).toBe(2);
    counters.endFlush(flushes, [{ key: 'a', hits: 40 }]);
    expect(hitsOf(counter)).toBe(41);
    expect(counters.beginFlush(10).map(({ row }) => row.hits)).toEqual([1]);
  });

  it('drops a result for a window that has passed meanwhile', () => {
    const counters = new WindowCounters(10);
    counters.hit(counters.current('a', MINUTE_MS, 0));
    const flushes = counters.beginFlush(10);
    const next = counters.current('a', MINUTE_MS, MINUTE_MS);
    counters.endFlush(flushes, [{ key: 'a', hits: 40 }]);
    expect(hitsOf(next)).toBe(0);
    counters.failFlush(flushes);
    expect(hitsOf(next)).toBe(0);
  });

  it('does not tell of hits of a window that has passed', () => {
    const counters = new WindowCounters(10);
    counters.hit(counters.current('a', MINUTE_MS, 0));
    counters.current('a', MINUTE_MS, MINUTE_MS);
    expect(counters.beginFlush(10)).toEqual([]);
  });

  it('hands over at most what is asked for, and the rest later', () => {
    const counters = new WindowCounters(10);
    for (const key of ['a', 'b', 'c']) counters.hit(counters.current(key, MINUTE_MS, 0));
    expect(counters.beginFlush(2)).toHaveLength(2);
    expect(counters.hasUnflushed).toBe(true);
    expect(counters.beginFlush(2)).toHaveLength(1);
    expect(counters.hasUnflushed).toBe(false);
  });

  it('forgets passed windows when swept, and the oldest when full', () => {
    const counters = new WindowCounters(2);
    counters.current('a', MINUTE_MS, 0);
    counters.current('b', 2 * MINUTE_MS, 0);
    counters.sweep(MINUTE_MS);
    expect(counters.size).toBe(1);
    counters.hit(counters.current('c', MINUTE_MS, MINUTE_MS));
    counters.current('d', MINUTE_MS, MINUTE_MS);
    expect(counters.size).toBe(2);
  });

  it('counts every hit exactly once, whatever fails in between', () => {
    const step = fc.constantFrom('hit', 'hit', 'hit', 'flush', 'fail');
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const counters = new WindowCounters(10);
        const counter = counters.current('a', MINUTE_MS, 0);
        let hits = 0;
        let stored = 0;
        for (const action of steps) {
          if (action === 'hit') {
            counters.hit(counter);
            hits += 1;
            continue;
          }
          const flushes = counters.beginFlush(10);
          if (action === 'fail') counters.failFlush(flushes);
          else {
            for (const { row } of flushes) stored += row.hits;
            counters.endFlush(flushes, flushes.length > 0 ? [{ key: 'a', hits: stored }] : []);
          }
          expect(hitsOf(counter)).toBe(hits);
        }
        expect(hitsOf(counter)).toBe(hits);
        expect(stored + counter.unflushed).toBe(hits);
      }),
    );
  });
});
