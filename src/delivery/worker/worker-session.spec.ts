import { Logger } from '@nestjs/common';
import { FakeClock } from '../../../test/doubles/fake-clock';
import { SECOND } from '../../common/clock';
import { UnavailableError } from '../../common/errors/app-error';
import type { AppConfig } from '../../config/config';
import type { WorkerSessionsRepository } from '../queue/worker-sessions.repository';
import { WorkerSession } from './worker-session';

const LEASE_SECONDS = 30;

/** A database that answers, is away, or knows the lease no more. */
class Sessions {
  answer: 'yes' | 'no' | 'away' = 'yes';
  renewals = 0;

  begin = () => this.reply();
  end = () => this.reply();
  renew = () => {
    this.renewals += 1;
    return this.reply();
  };

  private reply(): Promise<boolean> {
    return this.answer === 'away' ? Promise.reject(new UnavailableError()) : Promise.resolve(this.answer === 'yes');
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
    sessions = new Sessions();
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

  it('begins to watch anew after an outage, even one that its lease outlives', async () => {
    await session.begin();
    const { id } = session;
    await pass(LEASE_SECONDS);
    sessions.answer = 'away';
    await pass(15);
    sessions.answer = 'yes';
    await pass(2);
    expect(session.id).toBe(id);
    await pass(LEASE_SECONDS - 3);
    expect(session.hasWatchedLease).toBe(false);
    await pass(3);
    expect(session.hasWatchedLease).toBe(true);
  });

  it('begins to watch anew with the next session', async () => {
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
});
