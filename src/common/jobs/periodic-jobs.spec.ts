import { Logger } from '@nestjs/common';
import { waitFor } from '../../../test/setup/wait-for';
import { SchedulerRegistry } from '@nestjs/schedule';
import { type Clock, DatabaseClock, SystemClock } from '../clock';
import { UnavailableError } from '../errors/app-error';
import { Metrics } from '../metrics/metrics';
import { deleteInBatches, type JobStore, PeriodicJobs } from './periodic-jobs';

/** Conditions that are true; each look at conditions is noted. */
class Work {
  readonly found = new Set<string>();
  readonly looks: string[][] = [];
  failure: Error | undefined;

  readonly find: JobStore['findWork'] = (_conditions, due) => {
    this.looks.push([...due]);
    if (this.failure) return Promise.reject(this.failure);
    return Promise.resolve(new Set(due.filter((name) => this.found.has(name))));
  };
}

/** `held`: by job, whether another process has its lease. */
function jobsOf(
  metrics: Metrics,
  held: Map<string, boolean>,
  enabled = true,
  clock: Clock = new SystemClock(),
  work = new Work(),
): PeriodicJobs {
  const store: JobStore = {
    findWork: work.find,
    take: (job) => Promise.resolve(held.get(job) !== true),
    release: (job) => Promise.resolve(void held.delete(job)),
  };
  return new PeriodicJobs(metrics, new SchedulerRegistry(), store, enabled, clock);
}

describe('PeriodicJobs', () => {
  let metrics: Metrics;
  let jobs: PeriodicJobs;
  let held: Map<string, boolean>;
  beforeEach(() => {
    held = new Map();
    jobs = jobsOf((metrics = new Metrics()), held);
  });
  afterEach(() => jobs.onModuleDestroy());

  /** Empty before its first use. */
  const metric = async (name: string) =>
    metrics.registry.getSingleMetric(`waybill_${name}`)
      ? metrics.registry.getSingleMetricAsString(`waybill_${name}`)
      : '';

  it('counts what removals have removed, and reports when a job last finished', async () => {
    const found = [3, 4, 0];
    jobs.startRemoval({ name: 'tidy', everyMs: 1, run: () => Promise.resolve(found.shift() ?? 0) });
    await waitFor(() => found.length === 0, { what: 'three runs' });
    await waitFor(async () => /result="ok"} [1-9]/.test(await metric('job_runs_total')), { what: 'the end of a run' });
    expect(await metric('retention_removed_rows_total')).toContain('{job_name="tidy"} 7');
    expect(await metric('job_last_success_timestamp_seconds')).toMatch(/\{job_name="tidy"\} \d{10}/);
  });

  it('reports its interval, and its start as long as it has not finished', async () => {
    jobs.start({ name: 'daily', everyMs: 86_400_000, run: () => Promise.resolve() });
    expect(await metric('job_interval_seconds')).toContain('{job_name="daily"} 86400');
    expect(await metric('job_last_success_timestamp_seconds')).toMatch(/\{job_name="daily"\} \d{10}/);
  });

  it('goes on after a failure, which is no success', async () => {
    Logger.overrideLogger(false);
    let runs = 0;
    jobs.startRemoval({ name: 'bad', everyMs: 1, run: () => Promise.reject(new Error(String((runs += 1)))) });
    const atStart = await metric('job_last_success_timestamp_seconds');
    await waitFor(() => runs > 2, { what: 'several runs' });
    expect(await metric('job_runs_total')).toMatch(/{job_name="bad",result="failed"} [1-9]/);
    expect(await metric('job_last_success_timestamp_seconds')).toBe(atStart);
  });

  it('says in the log what the driver reports of an outage', async () => {
    const warn = jest.spyOn(Logger.prototype, 'warn').mockReturnValue();
    const away = new UnavailableError('The database is away', new Error('connect ECONNREFUSED 127.0.0.1:5432'));
    jobs.start({ name: 'bad', everyMs: 1, run: () => Promise.reject(away) });
    await waitFor(() => warn.mock.calls.length > 0, { what: 'the line of a run' });
    expect(warn).toHaveBeenCalledWith('Job bad failed: The database is away: connect ECONNREFUSED 127.0.0.1:5432');
  });

  it('runs an exclusive job only while no other process has its lease', async () => {
    let runs = 0;
    held.set('alone', true);
    jobs.start({ name: 'alone', everyMs: 1, exclusive: true, run: () => Promise.resolve((runs += 1)) });
    await waitFor(async () => /result="elsewhere"} [1-9]/.test(await metric('job_runs_total')), {
      what: 'a run that is left out',
    });
    expect(runs).toBe(0);
    held.set('alone', false);
    await waitFor(() => runs > 0, { what: 'a run after the lease has ended' });
  });

  it('runs a job with a condition only while that is true, and looks for several at once', async () => {
    const work = new Work();
    jobs = jobsOf(metrics, held, true, new SystemClock(), work);
    const runs: string[] = [];
    const start = (name: string) =>
      jobs.start({ name, everyMs: 1, hasWork: name, run: () => Promise.resolve(void runs.push(name)) });
    for (const name of ['one', 'other']) start(name);
    await waitFor(() => work.looks.length > 1, { what: 'two looks' });
    expect(work.looks[0]).toEqual(['one', 'other']);
    expect(runs).toEqual([]);
    await waitFor(async () => /job_name="other",result="ok"} [1-9]/.test(await metric('job_runs_total')), {
      what: 'a run without work',
    });
    work.found.add('other');
    await waitFor(() => runs.length > 0, { what: 'a run' });
    expect(new Set(runs)).toEqual(new Set(['other']));
  });

  it('counts an outage during a look as a failure of each job, and looks again', async () => {
    Logger.overrideLogger(false);
    const work = new Work();
    work.failure = new UnavailableError();
    work.found.add('one');
    jobs = jobsOf(metrics, held, true, new SystemClock(), work);
    let runs = 0;
    jobs.start({ name: 'one', everyMs: 1, hasWork: 'true', run: () => Promise.resolve((runs += 1)) });
    await waitFor(async () => /job_name="one",result="failed"} [1-9]/.test(await metric('job_runs_total')), {
      what: 'a look that fails',
    });
    expect(runs).toBe(0);
    work.failure = undefined;
    await waitFor(() => runs > 0, { what: 'a run' });
  });

  it('runs every job while a condition fails, so that one holds up no other', async () => {
    Logger.overrideLogger(false);
    const work = new Work();
    work.failure = new Error('statement timeout');
    jobs = jobsOf(metrics, held, true, new SystemClock(), work);
    const runs = new Set<string>();
    for (const name of ['one', 'other']) {
      jobs.start({ name, everyMs: 1, hasWork: name, run: () => Promise.resolve(runs.add(name)) });
    }
    await waitFor(() => runs.size === 2, { what: 'a run of both' });
  });

  it('ends a run that was stopped for longer than its lease, and lets the other process have it', async () => {
    jest.useFakeTimers();
    Logger.overrideLogger(false);
    try {
      const ended: boolean[] = [];
      const run = (going: AbortSignal) =>
        new Promise<void>((resolve) => {
          going.addEventListener('abort', () => resolve(void ended.push(jobs.ending.aborted)));
        });
      jobs.start({ name: 'stopped', everyMs: 1, exclusive: true, run });
      await jest.advanceTimersByTimeAsync(30_000);
      expect(ended).toEqual([]);
      held.set('stopped', true);
      await jest.advanceTimersByTimeAsync(20_000);
      expect(ended).toEqual([false]);
    } finally {
      jest.useRealTimers();
    }
  });

  it('ends a run whose lease cannot be renewed, before another process may have it', async () => {
    jest.useFakeTimers();
    Logger.overrideLogger(false);
    try {
      let takes = 0;
      const store: JobStore = {
        findWork: new Work().find,
        take: () => ((takes += 1) > 2 ? Promise.reject(new UnavailableError()) : Promise.resolve(true)),
        release: () => Promise.reject(new UnavailableError()),
      };
      const alone = new PeriodicJobs(new Metrics(), new SchedulerRegistry(), store, true, new SystemClock());
      let isEnded = false;
      const run = (going: AbortSignal) =>
        new Promise<void>((resolve) => {
          going.addEventListener('abort', () => resolve(void (isEnded = true)));
        });
      alone.start({ name: 'cut-off', everyMs: 1, exclusive: true, run });
      // Renewed after 20 s, and not again.
      await jest.advanceTimersByTimeAsync(70_000);
      expect(isEnded).toBe(false);
      await jest.advanceTimersByTimeAsync(9_000);
      expect(isEnded).toBe(true);
      await alone.stop();
    } finally {
      jest.useRealTimers();
    }
  });

  it('aborts a run at the end of the process', async () => {
    let isUnderWay = false;
    const run = (going: AbortSignal) =>
      new Promise<void>((resolve) => {
        isUnderWay = true;
        going.addEventListener('abort', () => resolve());
      });
    jobs.start({ name: 'long', everyMs: 1, exclusive: true, run });
    await waitFor(() => isUnderWay, { what: 'the run' });
    await jobs.stop();
  });

  it('runs nothing while the clock is wrong', async () => {
    const clock = new DatabaseClock();
    const idle = jobsOf(metrics, held, true, clock);
    let runs = 0;
    idle.start({ name: 'idle', everyMs: 1, run: () => Promise.resolve((runs += 1)) });
    let timelessRuns = 0;
    idle.start({ name: 'timeless', everyMs: 1, needsNoClock: true, run: () => Promise.resolve((timelessRuns += 1)) });
    await waitFor(() => timelessRuns > 0, { what: 'a run of what needs no clock' });
    await waitFor(async () => /result="clock_wrong"} [1-9]/.test(await metric('job_runs_total')), {
      what: 'a run left out',
    });
    expect(runs).toBe(0);
    clock.read({ databaseNow: new Date(), ownNow: new Date(), monotonicMs: clock.monotonicMs(), errorMs: 0 });
    await waitFor(() => runs > 0, { what: 'a run once the clock is right' });
    await idle.onModuleDestroy();
  });

  it('runs nothing in a process without the role', async () => {
    const idle = jobsOf(metrics, held, false);
    let runs = 0;
    idle.start({ name: 'idle', everyMs: 0, run: () => Promise.resolve((runs += 1)) });
    jobs.start({ name: 'other', everyMs: 0, run: () => Promise.resolve() });
    await waitFor(async () => /job_name="other",result="ok"} [1-9]/.test(await metric('job_runs_total')), {
      what: 'a job of another process',
    });
    expect(runs).toBe(0);
    await idle.onModuleDestroy();
  });
});

describe('deleteInBatches', () => {
  it('goes on until there is less than a batch, and sums up', async () => {
    const there = [2, 2, 1, 9];
    expect(await deleteInBatches(2, () => Promise.resolve(there.shift() ?? 0))).toBe(5);
    expect(there).toEqual([9]);
  });

  it('takes fewer rows at a time where many cannot be deleted in time', async () => {
    let rows = 1_000;
    const sizes: number[] = [];
    const remove = (limit: number) => {
      sizes.push(limit);
      if (limit > 70) return Promise.reject(new UnavailableError('took too long'));
      const deleted = Math.min(rows, limit);
      rows -= deleted;
      return Promise.resolve(deleted);
    };
    expect(await deleteInBatches(1_000, remove)).toBe(1_000);
    expect(sizes.slice(0, 4)).toEqual([1_000, 250, 62, 62]);
  });

  it('fails when the database is away, and at once for any other reason', async () => {
    const [outage, fault] = [new UnavailableError('away'), new Error('no such table')];
    const away = jest.fn(() => Promise.reject(outage));
    await expect(deleteInBatches(1_000, away)).rejects.toBe(outage);
    expect(away).toHaveBeenCalledTimes(5);
    await expect(deleteInBatches(1_000, () => Promise.reject(fault))).rejects.toBe(fault);
  });
});
