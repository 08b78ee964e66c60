import { FakeClock } from '../../test/doubles/fake-clock';
import { DatabaseClock, DAY, MINUTE, SECOND } from './clock';

const NOW = new Date('2026-03-01T10:00:00.000Z');
const after = (ms: number) => new Date(NOW.getTime() + ms);

describe('DatabaseClock', () => {
  let own: FakeClock;
  let clock: DatabaseClock;
  beforeEach(() => (clock = new DatabaseClock((own = new FakeClock(NOW)))));

  const read = (databaseNow: Date, errorMs = 0) =>
    clock.read({ databaseNow, ownNow: own.now(), monotonicMs: own.monotonicMs(), errorMs });

  it('decides nothing before the first reading', () => {
    expect(clock.isReliable).toBe(false);
    expect(clock.now()).toEqual(NOW);
    expect(read(NOW)).toBe(true);
    expect(clock.isReliable).toBe(true);
  });

  it.each([5 * DAY, -5 * DAY, 6 * SECOND])(
    "shows the database's time while its own is off by %d ms, and says so",
    (ms) => {
      own.set(after(ms));
      read(NOW);
      expect(clock.now()).toEqual(NOW);
      expect([clock.isReliable, clock.offsetMs]).toEqual([false, ms]);
      own.advance(MINUTE);
      expect(clock.now()).toEqual(after(MINUTE));
      own.set(after(MINUTE));
      read(after(MINUTE));
      expect(clock.isReliable).toBe(true);
    },
  );

  it('does not follow a jump of its own clock', () => {
    read(NOW);
    own.set(after(-DAY));
    expect(clock.now()).toEqual(NOW);
  });

  it('allows a few seconds, and for how long the reading took', () => {
    own.set(after(5 * SECOND));
    read(NOW);
    expect(clock.isReliable).toBe(true);
    own.set(after(5.4 * SECOND));
    expect(read(NOW, 500)).toBe(false);
    expect(clock.isReliable).toBe(true);
  });

  it('follows the database, not the delays of its responses', () => {
    read(NOW);
    read(after(40));
    expect(clock.now()).toEqual(NOW);
    read(after(MINUTE));
    expect(clock.now()).toEqual(after(MINUTE));
  });
});
