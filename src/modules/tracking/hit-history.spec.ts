import fc from 'fast-check';
import { BURST_LINKS, BURST_MS, LinkBursts } from './hit-history';

/** Whether a click is one of so many within one window. */
function isInBurst(click: number, clicks: readonly number[]): boolean {
  return clicks.some((fromMs) => {
    const window = clicks.filter((atMs) => atMs >= fromMs && atMs <= fromMs + BURST_MS);
    return window.includes(click) && window.length >= BURST_LINKS;
  });
}

const waits = fc.constantFrom(0, 1, 500, 999, 1_000, 1_001, 2_000, 2_001);
/** Times of clicks, in order. */
const history = fc.array(waits, { maxLength: 12 }).map((all) => {
  let atMs = 0;
  return all.map((waitMs) => (atMs += waitMs));
});

describe('LinkBursts', () => {
  it('covers the clicks of a burst, the early ones too, once its time has passed', () => {
    fc.assert(
      fc.property(history, (clicks) => {
        const bursts = new LinkBursts();
        const found: boolean[] = [];
        const evaluate = (upToMs: number): void => {
          for (const atMs of clicks.slice(found.length)) if (atMs <= upToMs) found.push(bursts.covers('d', atMs));
        };
        for (const atMs of clicks) {
          evaluate(atMs - BURST_MS - 1);
          bursts.note('d', atMs);
        }
        evaluate(Infinity);
        expect(found).toEqual(clicks.map((click) => isInBurst(click, clicks)));
      }),
      { numRuns: 1_000 },
    );
  });

  it('keeps deliveries apart', () => {
    const bursts = new LinkBursts();
    const deliveries = ['one', 'two', 'three'];
    for (const delivery of deliveries) bursts.note(delivery, 0);
    expect(deliveries.some((delivery) => bursts.covers(delivery, 0))).toBe(false);
  });
});
