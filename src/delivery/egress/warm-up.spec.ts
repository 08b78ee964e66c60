import fc from 'fast-check';
import { FakeClock } from '../../../test/doubles/fake-clock';
import { DAY, HOUR, MINUTE } from '../../common/clock';
import { CommitUnknownError, UnavailableError } from '../../common/errors/app-error';
import type { UnusedVolume } from './egress-addresses.repository';
import { DEFAULT_SCHEDULE, parseWarmUpSchedule, WarmUpVolumes } from './warm-up-volumes';

const ADDRESS = '127.0.0.2';
const OTHER = '127.0.0.3';
const progress = (address: string, isWarm = false) => ({ ...NEW, address, isWarm });
const NEW = { day: 1, isToday: true, startedAt: new Date(0) };

/** What the database does, with the volume of one day. */
class Ledger {
  readonly taken = new Map<string, number>();
  asked = 0;
  isAway = false;
  /** Of returns. */
  failure: Error | undefined;
  isWarm = false;

  constructor(
    private readonly volume: number,
    private readonly clock: FakeClock,
  ) {}

  takeVolume(address: string, provider: string, wanted: number) {
    this.asked += 1;
    if (this.isAway) return Promise.reject(new UnavailableError('The database is away'));
    const key = this.keyOf(address, provider);
    const before = this.taken.get(key) ?? 0;
    const granted = Math.max(0, Math.min(wanted, this.volume - before));
    this.taken.set(key, before + granted);
    const dayLeftMs = DAY - (this.clock.now().getTime() % DAY);
    return Promise.resolve({ granted, volume: this.volume, isWarm: this.isWarm, dayLeftMs });
  }

  returnVolume(unused: readonly UnusedVolume[]): Promise<void> {
    if (this.failure) return Promise.reject(this.failure);
    for (const { address, provider, amount } of unused) {
      const key = this.keyOf(address, provider);
      this.taken.set(key, (this.taken.get(key) ?? 0) - amount);
    }
    return Promise.resolve();
  }

  ofToday(provider: string): number | undefined {
    return this.taken.get(this.keyOf(ADDRESS, provider));
  }

  private keyOf(address: string, provider: string): string {
    return `${address} ${provider} ${this.clock.now().toISOString().slice(0, 10)}`;
  }
}

function setUp({ volume = 50, workers = 1, schedule = DEFAULT_SCHEDULE } = {}) {
  const clock = new FakeClock();
  const ledger = new Ledger(volume, clock);
  const all = Array.from({ length: workers }, () => new WarmUpVolumes(ledger, schedule, clock));
  for (const one of all) one.apply([progress(ADDRESS)]);
  const take = async (worker = 0, provider = 'google') => (await all[worker]?.take(ADDRESS, provider)) === undefined;
  return { clock, ledger, all, take };
}

describe('the schedule of a warm-up', () => {
  it('never falls, and begins low', () => {
    expect(DEFAULT_SCHEDULE.toSorted((a, b) => a - b)).toEqual(DEFAULT_SCHEDULE);
    expect(DEFAULT_SCHEDULE[0]).toBe(50);
    for (const [day, volume] of DEFAULT_SCHEDULE.entries()) {
      expect(volume).toBeLessThanOrEqual(2 * (DEFAULT_SCHEDULE[day - 1] ?? 50));
    }
  });

  it('is the default one, that of the operator, or none', () => {
    expect(parseWarmUpSchedule(undefined)).toBe(DEFAULT_SCHEDULE);
    expect(parseWarmUpSchedule('20, 40,40')).toEqual([20, 40, 40]);
    expect(parseWarmUpSchedule('off')).toEqual([]);
  });

  it.each(['', '0', '10,5', '10,,20', 'ten', '-1', '1e9', Array(91).fill('5').join()])('refuses %j', (text) => {
    expect(() => parseWarmUpSchedule(text)).toThrow('EGRESS_WARM_UP must be off');
  });
});

describe('the volume of a new address', () => {
  it('is kept by all workers together, and used up, in whatever order they send', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 300 }),
        fc.integer({ min: 1, max: 5 }),
        fc.array(fc.nat(4), { minLength: 400, maxLength: 400 }),
        async (volume, workers, order) => {
          const { all, take } = setUp({ volume, workers });
          let sent = 0;
          for (const worker of order) if (await take(worker % workers)) sent += 1;
          expect(sent).toBeLessThanOrEqual(volume);
          for (const one of all) await one.giveBack('all');
          for (let left = 0; left < 400; left += 1) if (await take(0)) sent += 1;
          expect(sent).toBeLessThanOrEqual(volume);
          // A worker that has been told of a used-up day asks again a minute later.
          if (workers === 1) expect(sent).toBe(volume);
        },
      ),
      { numRuns: 20 },
    );
  });

  it('is asked for in parts that grow, not mail by mail', async () => {
    const { ledger, take } = setUp({ volume: 10_000 });
    for (let n = 0; n < 10_000; n += 1) expect(await take()).toBe(true);
    expect(await take()).toBe(false);
    expect(ledger.asked).toBeLessThan(40);
  });

  it('is asked for once by many at a time', async () => {
    const { ledger, take } = setUp({ volume: 3 });
    const sent = await Promise.all(Array.from({ length: 10 }, () => take()));
    expect(sent.filter(Boolean)).toHaveLength(3);
    expect(ledger.asked).toBeLessThanOrEqual(5);
  });

  it('is one for each provider, and is there again the next day', async () => {
    const { clock, all, take } = setUp({ volume: 1 });
    clock.set(new Date('2026-03-01T20:00:00Z'));
    expect([await take(0, 'google'), await take(0, 'google'), await take(0, 'yahoo')]).toEqual([true, false, true]);
    expect(await all[0]?.take(ADDRESS, 'google')).toEqual(new Date('2026-03-02T00:00:00Z'));
    clock.advance(4 * HOUR);
    expect([await take(0, 'google'), await take(0, 'google')]).toEqual([true, false]);
  });

  it('gets back what did not leave, and what one worker does not need goes to others', async () => {
    const { clock, ledger, all, take } = setUp({ volume: 100, workers: 2 });
    await take(0);
    await take(0);
    all[0]?.refund(ADDRESS, 'google', clock.monotonicMs());
    expect(ledger.ofToday('google')).toBe(3);
    await all[0]?.giveBack('unused');
    expect(ledger.ofToday('google')).toBe(3);
    clock.advance(MINUTE + 1);
    await all[0]?.giveBack('unused');
    expect(ledger.ofToday('google')).toBe(1);
  });

  it('gets back nothing of a day that is over: that of today is never exceeded', async () => {
    const { clock, all, take } = setUp({ volume: 1 });
    clock.set(new Date('2026-03-01T23:59:00Z'));
    const yesterdayMs = clock.monotonicMs();
    expect(await take()).toBe(true);
    clock.advance(2 * MINUTE);
    expect(await take()).toBe(true);
    all[0]?.refund(ADDRESS, 'google', yesterdayMs);
    expect(await take()).toBe(false);
  });

  it('is kept when it could not be given back, and given back later', async () => {
    const { clock, ledger, all, take } = setUp({ volume: 100 });
    for (let sent = 0; sent < 2; sent += 1) await take();
    ledger.failure = new UnavailableError();
    await expect(all[0]?.giveBack('all')).rejects.toThrow(UnavailableError);
    ledger.failure = undefined;
    await all[0]?.giveBack('all');
    expect(ledger.ofToday('google')).toBe(2);
    for (let sent = 0; sent < 2; sent += 1) await take();
    const yesterday = ledger.ofToday('google');
    ledger.failure = new UnavailableError();
    const failing = all[0]?.giveBack('all');
    clock.advance(DAY);
    await expect(failing).rejects.toThrow(UnavailableError);
    ledger.failure = undefined;
    await all[0]?.giveBack('all');
    expect([yesterday, ledger.ofToday('google')]).toEqual([6, undefined]);
  });

  it('is not kept when it may have been given back: it is never exceeded', async () => {
    const { ledger, all, take } = setUp({ volume: 100 });
    for (let sent = 0; sent < 2; sent += 1) await take();
    ledger.failure = new CommitUnknownError(new Error('Connection terminated'));
    await expect(all[0]?.giveBack('all')).rejects.toThrow(CommitUnknownError);
    ledger.failure = undefined;
    await all[0]?.giveBack('all');
    expect(ledger.ofToday('google')).toBe(3);
  });

  it('gets back what did not leave while more was asked for', async () => {
    const { clock, ledger, all, take } = setUp({ volume: 4 });
    await take();
    const asked = take();
    all[0]?.refund(ADDRESS, 'google', clock.monotonicMs());
    expect(await asked).toBe(true);
    let sent = 1;
    while (await take()) sent += 1;
    expect([sent, ledger.ofToday('google')]).toEqual([4, 4]);
  });

  it('ends when the warm-up is over, or an operator skips it, and begins again when it is restarted', async () => {
    const { ledger, all, take } = setUp({ volume: 1 });
    expect([await take(), await take()]).toEqual([true, false]);
    all[0]?.apply([progress(ADDRESS, true)]);
    expect([await take(), await take()]).toEqual([true, true]);
    ledger.taken.clear();
    all[0]?.apply([progress(ADDRESS)]);
    expect([await take(), await take()]).toEqual([true, false]);
    ledger.isWarm = true;
    all[0]?.apply([progress(ADDRESS, true), progress(OTHER)]);
    all[0]?.apply([progress(ADDRESS)]);
    expect([await take(), await take()]).toEqual([true, true]);
  });

  it('is not counted without a schedule, and unknown while the database is away', async () => {
    const free = setUp({ schedule: [] });
    expect(await free.take()).toBe(true);
    expect(free.ledger.asked).toBe(0);
    const { ledger, take } = setUp();
    ledger.isAway = true;
    await expect(take()).rejects.toThrow(UnavailableError);
    ledger.isAway = false;
    expect(await take()).toBe(true);
  });
});
