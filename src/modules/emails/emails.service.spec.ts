import fc from 'fast-check';
import { oldestFirst } from './emails.service';

const START = Date.UTC(2026, 10, 20);

/** Events as they were recorded: whose, and how many milliseconds after the first. */
function recorded(...events: readonly (readonly [recipient: string | undefined, afterMs: number])[]) {
  return events.map(([recipient, afterMs], index) => ({
    sequence: index + 1,
    occurredAt: new Date(START + afterMs),
    data: recipient === undefined ? {} : { recipient },
  }));
}

const order = (events: ReturnType<typeof recorded>) => oldestFirst(events).map(({ sequence }) => sequence);

describe('events of an email', () => {
  it('of several recipients go by their times', () => {
    const events = recorded([undefined, 0], ['a', 5], ['a', 27], ['b', 4], ['b', 26]);
    expect(order(events)).toEqual([1, 4, 2, 5, 3]);
  });

  it('at the same time go as they were recorded', () => {
    expect(order(recorded([undefined, 0], ['a', 5], ['b', 5], ['a', 5]))).toEqual([1, 2, 3, 4]);
  });

  it('of one recipient stay in their order, whatever a clock says', () => {
    expect(order(recorded([undefined, 0], ['a', 9], ['a', -3_600_000], ['b', 5]))).toEqual([1, 4, 2, 3]);
  });

  it('never come before what concerned the whole email', () => {
    expect(order(recorded([undefined, 0], ['a', -5], ['b', -9]))).toEqual([1, 2, 3]);
  });

  it('are all there; each recipient’s in their order, and by their times where the clocks agree', () => {
    const anyEvent = fc.tuple(fc.constantFrom(undefined, 'a', 'b', 'c'), fc.integer({ min: -20, max: 20 }));
    fc.assert(
      fc.property(fc.array(anyEvent, { maxLength: 20 }), (given) => {
        const events = recorded(...given);
        const sorted = oldestFirst(events);
        expect(sorted.map(({ sequence }) => sequence).sort((one, other) => one - other)).toEqual(
          events.map(({ sequence }) => sequence),
        );
        for (const who of [undefined, 'a', 'b', 'c']) {
          const of = (list: typeof events) => list.filter(({ data }) => data.recipient === who);
          expect(of(sorted)).toEqual(of(events));
        }
      }),
    );
    fc.assert(
      fc.property(fc.array(anyEvent, { maxLength: 20 }), (given) => {
        const inTime = [...given].sort(([, one], [, other]) => one - other);
        const sorted = oldestFirst(recorded(...inTime));
        const times = sorted.map(({ occurredAt }) => occurredAt.getTime());
        expect(times).toEqual([...times].sort((one, other) => one - other));
      }),
    );
  });
});
