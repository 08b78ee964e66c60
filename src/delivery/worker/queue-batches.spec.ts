import { Logger } from '@nestjs/common';
import { FakeClock } from '../../../test/doubles/fake-clock';
import { UnavailableError } from '../../common/errors/app-error';
import type { PeriodicJobs } from '../../common/jobs/periodic-jobs';
import type { DeliveryQueueRepository } from '../queue/delivery-queue.repository';
import type { WorkerSessionsRepository } from '../queue/worker-sessions.repository';
import type { JournalTakeover } from '../results/journal-takeover';
import type { DeadClaims } from './crash-recovery';
import { DeadSessionsJob, PromoteDueJob } from './queue.job';
import type { WorkerSession } from './session/worker-session';
import type { WorkSignal } from './session/work-signal';

/** Rows that wait for a job, of which the database can change only so many within the time limit of a statement. */
class SlowRows {
  readonly asked: number[] = [];

  constructor(
    public left: number,
    public most: number,
  ) {}

  change = (limit: number): Promise<number> => {
    this.asked.push(limit);
    const count = Math.min(limit, this.left);
    if (count > this.most) {
      const cause = Object.assign(new Error('canceling statement due to statement timeout'), { code: '57014' });
      return Promise.reject(new UnavailableError('The database is temporarily unavailable', cause));
    }
    this.left -= count;
    return Promise.resolve(count);
  };
}

const signal = { call: () => undefined } as unknown as WorkSignal;

describe.each<[job: string, make: (rows: SlowRows) => () => Promise<void>, most: number]>([
  [
    'mail that is due',
    (rows) => {
      const queue = { promoteDue: (_now: Date, limit: number) => rows.change(limit) };
      const job = new PromoteDueJob({} as PeriodicJobs, queue as DeliveryQueueRepository, signal, new FakeClock());
      return () => job.promote();
    },
    5_000,
  ],
  [
    'mail of lost workers',
    (rows) => {
      const claims = { free: rows.change } as DeadClaims;
      const journals = { takeDying: () => Promise.resolve() } as JournalTakeover;
      const session = { hasWatchedLease: true } as WorkerSession;
      const sessions = {} as WorkerSessionsRepository;
      const job = new DeadSessionsJob({} as PeriodicJobs, claims, journals, sessions, session, signal);
      return () => job.reap();
    },
    500,
  ],
])('%s', (_job, make, most) => {
  beforeEach(() => jest.spyOn(Logger.prototype, 'warn').mockImplementation());

  it('moves on in a database that is too slow for many at a time, and faster once it is not', async () => {
    const rows = new SlowRows(2 * most, most / 10);
    const run = make(rows);
    for (let runs = 0; runs < 50; runs += 1) await run().catch(() => undefined);
    expect(rows.left).toBeLessThan(most);
    Object.assign(rows, { left: 100 * most, most: Infinity });
    for (let runs = 0; runs < 30; runs += 1) await run();
    expect(rows.asked.at(-1)).toBe(most);
  });
});
