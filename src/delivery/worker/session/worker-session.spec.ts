import { Logger } from '@nestjs/common';
import { FakeClock } from '../../../../test/doubles/fake-clock';
import { HOUR, SECOND } from '../../../common/clock';
import { UnavailableError } from '../../../common/errors/app-error';
import type { AppConfig } from '../../../config/config';
import type { WorkerSessionsRepository } from '../../queue/worker-sessions.repository';
import { WorkerSession } from './worker-session';

const LEASE_SECONDS = 30;

/** A database that answers, is away, or knows the lease no more. It knows of one worker. */
class Sessions {
  answer: 'yes' | 'no' | 'away' = 'yes';
  renewals = 0;
  private watchedSinceMs = -Infinity;
  private answeredMs = -Infinity;

  constructor(private readonly clock: FakeClock) {}

  begin = () => this.reply();
  end = () => this.reply();
  renew = () => {
    this.renewals += 1;
    return this.reply();
  };

  /** As another worker left it, which had been answered until so many seconds ago, and for an hour. */
  watchedByAnother(secondsAgo: number): void {
    this.answeredMs = this.clock.monotonicMs() - secondsAgo * SECOND;
    this.watchedSinceMs = this.answeredMs - HOUR;
  }

  private reply(): Promise<number | undefined> {
    if (this.answer === 'away') return Promise.reject(new UnavailableError());
    if (this.answer === 'no') return Promise.resolve(undefined);
    const nowMs = this.clock.monotonicMs();
    if (nowMs - this.answeredMs >= (LEASE_SECONDS / 2) * SECOND) this.watchedSinceMs = nowMs;
    this.answeredMs = nowMs;
    return Promise.resolve((nowMs - this.watchedSinceMs) / SECOND);
  }
}

describe('WorkerSession', () => {
  let clock: FakeClock;
  let sessions: Sessions;
  let session: WorkerSession;

  beforeEach(() => {
    jest.useFakeTimers();
    jest.spyOn(Logger.prototype, 'warn').mockImplementation();
    clock = new FakeClock();
    sessions = new Sessions(clock);
    const config = { delivery: { leaseSeconds: LEASE_SECONDS } } as AppConfig;
    session = new WorkerSession(sessions as unknown as WorkerSessionsRepository, clock, config);
  });
  afterEach(() => {
    jest.useRealTimers();
    jest.restoreAllMocks();
  });

  async function pass(seconds: number): Promise<void> {
    for (let second = 0; second < seconds; second += 1) {
      clock.advance(SECOND);
      await jest.advanceTimersByTimeAsync(SECOND);
    }
  }

  it('has watched a lease once the database has answered for so long', async () => {
    expect(session.hasWatchedLease).toBe(false);
    await session.begin();
    await pass(LEASE_SECONDS - 1);
    expect(session.hasWatchedLease).toBe(false);
    await pass(1);
    expect(session.hasWatchedLease).toBe(true);
    expect(session.id).toBeDefined();
  });

  it.each<[how: string, find: () => void | Promise<void>]>([
    ['by its own clock, as after it was suspended', () => clock.advance(LEASE_SECONDS * SECOND)],
    ['by a renewal', () => pass(LEASE_SECONDS / 3 + 1)],
  ])('says once that it has lost its lease, which it finds %s', async (_how, find) => {
    await session.begin();
    const { id } = session;
    sessions.answer = 'no';
    await find();
    expect(session.id).toBeUndefined();
    sessions.answer = 'yes';
    await session.begin();
    expect(session.id).not.toBe(id);
    expect(Logger.prototype.warn).toHaveBeenCalledTimes(1);
    expect(Logger.prototype.warn).toHaveBeenCalledWith(expect.stringContaining('has lost its lease'));
  });

  it('starts to watch again after an outage of half a lease, even one that its lease outlives', async () => {
    await session.begin();
    const { id } = session;
    await pass(LEASE_SECONDS);
    sessions.answer = 'away';
    await pass(20);
    sessions.answer = 'yes';
    await pass(2);
    expect(session.id).toBe(id);
    await pass(LEASE_SECONDS - 3);
    expect(session.hasWatchedLease).toBe(false);
    await pass(3);
    expect(session.hasWatchedLease).toBe(true);
  });

  it('watches on after a restart of the database, which costs no worker its lease, but not during it', async () => {
    await session.begin();
    await pass(LEASE_SECONDS);
    sessions.answer = 'away';
    await pass(11);
    expect(session.hasWatchedLease).toBe(false);
    sessions.answer = 'yes';
    await pass(2);
    expect(session.hasWatchedLease).toBe(true);
  });

  it.each([
    [LEASE_SECONDS / 2 - 1, true],
    [LEASE_SECONDS / 2, false],
  ])('goes by the watch of others when they have had answers until %i s ago: %s', async (secondsAgo, hasWatched) => {
    sessions.watchedByAnother(secondsAgo);
    await session.begin();
    expect(session.hasWatchedLease).toBe(hasWatched);
  });

  it('starts to watch again with the next session', async () => {
    await session.begin();
    await pass(LEASE_SECONDS);
    sessions.answer = 'no';
    await pass(LEASE_SECONDS);
    expect(session.id).toBeUndefined();
    expect(session.hasWatchedLease).toBe(false);
    sessions.answer = 'yes';
    await session.begin();
    await pass(LEASE_SECONDS - 1);
    expect(session.hasWatchedLease).toBe(false);
    await pass(1);
    expect(session.hasWatchedLease).toBe(true);
  });

  it('counts its lease from before it was asked for: others count it from before the answer', async () => {
    const answers: (() => void)[] = [];
    const { renew } = sessions;
    sessions.renew = async () => {
      await new Promise<void>((resolve) => answers.push(resolve));
      return renew();
    };
    await session.begin();
    const renewed = session.renew();
    clock.advance(20 * SECOND);
    answers[0]?.();
    await renewed;
    clock.advance(5 * SECOND - 1);
    expect(session.id).toBeDefined();
    clock.advance(1);
    expect(session.id).toBeUndefined();
  });

  it('asks again soon when a renewal has failed', async () => {
    await session.begin();
    sessions.answer = 'away';
    await pass(13);
    expect(sessions.renewals).toBeGreaterThanOrEqual(3);
    await pass(13);
    expect(session.id).toBeUndefined();
  });

  it('asks nothing more once it has ended', async () => {
    await session.begin();
    await session.end();
    await pass(LEASE_SECONDS);
    expect(sessions.renewals).toBe(0);
  });

  it('asks nothing more once its process has shut down without ending it', async () => {
    await session.begin();
    session.onApplicationShutdown();
    sessions.answer = 'away';
    await pass(LEASE_SECONDS);
    expect(sessions.renewals).toBe(0);
    expect(session.id).toBeUndefined();
  });

  it('does again what failed of what comes before the first claim, and under each session all of it', async () => {
    const done: string[] = [];
    let works = false;
    session.onBegin(() => Promise.resolve(void done.push('once')));
    session.onBegin(() => {
      done.push(works ? 'well' : 'in vain');
      return Promise.resolve(works);
    });
    await session.begin();
    expect(await session.prepare()).toBe(false);
    works = true;
    expect([await session.prepare(), await session.prepare()]).toEqual([true, true]);
    expect(done).toEqual(['once', 'in vain', 'in vain', 'well']);
    await session.begin();
    expect(done.slice(4)).toEqual(['once', 'well']);
  });
});
