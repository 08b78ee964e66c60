import { Inject, Injectable, Logger, type OnModuleDestroy } from '@nestjs/common';
import { SchedulerRegistry } from '@nestjs/schedule';
import { Clock, SECOND } from '../clock';
import { UnavailableError, reasonOf } from '../errors/app-error';
import { Metrics } from '../metrics/metrics';

export interface PeriodicJob {
  readonly name: string;
  /** From the end of one run to the start of the next; ± 20 % so that processes do not move in step. */
  readonly everyMs: number;
  /**
   * True: one process at a time runs it, by a lease in the database. Without it `run` must be safe to run in several
   * processes at once (its statements skip what another process has locked).
   */
  readonly exclusive?: boolean;
  /**
   * An SQL condition, `$1::timestamptz` being the present: a run for which it is false is over without effect. For work that is
   * rarely there: the conditions of all jobs that are due at about the same time are read by one statement.
   */
  readonly hasWork?: string;
  /**
   * @param going is aborted when the run must end: with the process, or because it was blocked for longer than its lease, or could
   * not renew it, so that another process may run the job now. Long runs, and runs that notify others, check it.
   */
  readonly run: (going: AbortSignal) => Promise<unknown>;
  /** It goes by no time of this process, so it runs while the clock is wrong, too. */
  readonly needsNoClock?: boolean;
}

/** Whether this process runs background jobs: those with role `worker` do. */
export const RUNS_JOBS = Symbol('RUNS_JOBS');

const JITTER = 0.2;
/** The label of a job. Prometheus has the name `job` for what it scrapes. */
const JOB = 'job_name';
const RESULTS = ['ok', 'failed', 'elsewhere', 'clock_wrong'] as const;
/** How long the lease of a crashed process stays; a running one renews it at a third of that. */
const LEASE_SECONDS = 60;
/** How long a process counts on a lease: it ends a little earlier than others may take it. */
const HELD_MS = (LEASE_SECONDS - 5) * SECOND;
/** A job with a condition waits so long for others that become due. */
const GATHER_MS = SECOND / 8;
/** The name of the timer for that. */
const LOOK = 'look-for-work';

/** The condition of a job, by its name. */
export type WorkCondition = Required<Pick<PeriodicJob, 'name' | 'hasWork'>>;

/** Who may run a job that two processes must not run at a time. Kept in the database, whose clock decides. */
export abstract class JobLeases {
  /** Takes or renews the lease of a job for this process. @returns false while another process holds it */
  abstract take(job: string, leaseSeconds: number): Promise<boolean>;

  /** Ends this process's lease, so that the next run need not wait for it to expire. */
  abstract release(job: string): Promise<void>;
}

/** What jobs need of the database. */
export abstract class JobStore extends JobLeases {
  /**
   * Returns the names of those whose condition is true.
   * @param conditions all that this process has, so that the statement stays the same
   * @param due the names of those that are looked at
   * @param now the present of the conditions
   * @throws UnavailableError
   */
  abstract findWork(
    conditions: readonly WorkCondition[],
    due: readonly string[],
    now: Date,
  ): Promise<ReadonlySet<string>>;
}

/**
 * Work that recurs: promoting due mail, summing up counters, creating partitions. Features register their jobs in every
 * process; only processes with role `worker` run them. A run that fails is counted, logged and repeated.
 */
@Injectable()
export class PeriodicJobs implements OnModuleDestroy {
  private readonly logger = new Logger(PeriodicJobs.name);
  private readonly running = new Set<Promise<void>>();
  private readonly stopping = new AbortController();
  /** Of the jobs that have one. */
  private readonly conditions: WorkCondition[] = [];
  /** Jobs with a condition whose time has come. */
  private due: PeriodicJob[] = [];

  constructor(
    private readonly metrics: Metrics,
    private readonly scheduler: SchedulerRegistry,
    private readonly store: JobStore,
    /** Whether this process runs jobs: for metrics that belong to them. */
    @Inject(RUNS_JOBS) readonly enabled: boolean,
    private readonly clock: Clock,
  ) {}

  /** Starts a job; the first run comes after a part of the interval. Names are unique in a process. */
  start(job: PeriodicJob): void {
    if (!this.enabled) return;
    for (const result of RESULTS) this.runs().inc({ [JOB]: job.name, result }, 0);
    this.interval().set({ [JOB]: job.name }, job.everyMs / SECOND);
    // Until it has: for an alert on how long it has not.
    this.lastSuccess().setToCurrentTime({ [JOB]: job.name });
    if (job.hasWork !== undefined) this.conditions.push({ name: job.name, hasWork: job.hasWork });
    this.schedule(job, job.everyMs * Math.random() * JITTER);
  }

  /**
   * Starts a job that removes data whose retention is over, in one process at a time; `run` returns the number of removed rows,
   * which are counted.
   */
  startRemoval(job: Omit<PeriodicJob, 'run' | 'exclusive'> & { readonly run: () => Promise<number> }): void {
    const rows = this.metrics.counter({
      name: 'retention_removed_rows_total',
      help: 'Rows removed because their time was over, by job',
      labels: [JOB],
    });
    if (this.enabled) rows.inc({ [JOB]: job.name }, 0);
    this.start({ ...job, exclusive: true, run: async () => rows.inc({ [JOB]: job.name }, await job.run()) });
  }

  /**
   * Runs one item of a run. Its error is logged, so that the other items still run; an outage ends the run.
   * @param item names it in the log
   * @throws UnavailableError
   */
  async attempt(item: string, work: () => Promise<unknown>): Promise<void> {
    try {
      await work();
    } catch (error) {
      if (error instanceof UnavailableError) throw error;
      this.logger.error(`${item} is passed over: ${reasonOf(error)}`);
    }
  }

  /** Aborted when jobs must end with the process. */
  get ending(): AbortSignal {
    return this.stopping.signal;
  }

  /** Starts no further run and waits for those under way. */
  async stop(): Promise<void> {
    this.stopping.abort();
    for (const name of this.scheduler.getTimeouts()) this.scheduler.deleteTimeout(name);
    await Promise.all(this.running);
  }

  onModuleDestroy(): Promise<void> {
    return this.stop();
  }

  private schedule(job: PeriodicJob, delayMs: number): void {
    this.after(delayMs, job.name, () => {
      if (job.hasWork === undefined) this.begin(job);
      else this.gather(job);
    });
  }

  /** The first one starts the time in which others join it. */
  private gather(job: PeriodicJob): void {
    this.due.push(job);
    if (this.due.length > 1) return;
    this.after(GATHER_MS, LOOK, () => {
      const jobs = this.due;
      this.due = [];
      let found: Promise<ReadonlySet<string>> | undefined;
      const findWork = () => (found ??= this.findWork(jobs.map(({ name }) => name)));
      for (const one of jobs) this.begin(one, async () => (await findWork()).has(one.name));
    });
  }

  /** All are looked for by one statement: while a condition fails, every due job runs. @throws UnavailableError */
  private async findWork(due: readonly string[]): Promise<ReadonlySet<string>> {
    try {
      return await this.store.findWork(this.conditions, due, this.clock.now());
    } catch (error) {
      if (error instanceof UnavailableError) throw error;
      this.logger.warn(`Job ${LOOK} failed: ${reasonOf(error)}`);
      return new Set(due);
    }
  }

  private after(delayMs: number, timer: string, work: () => void): void {
    if (this.ending.aborted) return;
    const begin = () => {
      this.scheduler.deleteTimeout(timer);
      work();
    };
    this.scheduler.addTimeout(timer, setTimeout(begin, delayMs));
  }

  private begin(job: PeriodicJob, hasWork?: () => Promise<boolean>): void {
    const run = this.runOnce(job, hasWork).finally(() => this.running.delete(run));
    this.running.add(run);
  }

  private async runOnce(job: PeriodicJob, hasWork?: () => Promise<boolean>): Promise<void> {
    const runs = this.runs();
    try {
      const result = await this.runIfAllowed(job, hasWork);
      runs.inc({ [JOB]: job.name, result });
      if (result !== 'ok') return;
      this.lastSuccess().setToCurrentTime({ [JOB]: job.name });
    } catch (error) {
      runs.inc({ [JOB]: job.name, result: 'failed' });
      this.logger.warn(`Job ${job.name} failed: ${reasonOf(error)}`);
    } finally {
      this.schedule(job, job.everyMs * (1 - JITTER + 2 * JITTER * Math.random()));
    }
  }

  private interval() {
    const help = 'From the end of a run of a background job to its next start, about';
    return this.metrics.gauge({ name: 'job_interval_seconds', help, labels: [JOB] });
  }

  private lastSuccess() {
    const help = 'When a background job last ran to its end in this process, or its start when it has not';
    return this.metrics.gauge({ name: 'job_last_success_timestamp_seconds', help, labels: [JOB] });
  }

  private runs() {
    const help = 'Runs of background jobs; elsewhere: another process has the lease';
    return this.metrics.counter({ name: 'job_runs_total', help, labels: [JOB, 'result'] });
  }

  /** Jobs remove, end and repeat by the time. */
  private async runIfAllowed(
    job: PeriodicJob,
    hasWork?: () => Promise<boolean>,
  ): Promise<Exclude<(typeof RESULTS)[number], 'failed'>> {
    if (!this.clock.isReliable && job.needsNoClock !== true) return 'clock_wrong';
    if (hasWork && !(await hasWork())) return 'ok';
    return job.exclusive ? this.runUnderLease(job) : runOf(job, this.ending);
  }

  private async runUnderLease(job: PeriodicJob): Promise<'ok' | 'elsewhere'> {
    if (!(await this.store.take(job.name, LEASE_SECONDS))) return 'elsewhere';
    const going = new AbortController();
    const end = () => going.abort();
    this.ending.addEventListener('abort', end);
    if (this.ending.aborted) end();
    const endKeeping = this.keepLease(job.name, going);
    try {
      return await runOf(job, going.signal);
    } finally {
      endKeeping();
      this.ending.removeEventListener('abort', end);
      // It expires by itself when the database is away.
      await this.store.release(job.name).catch(() => undefined);
    }
  }

  /** Ends the run when another process has its lease, or may soon have it. Returns what ends that. */
  private keepLease(name: string, going: AbortController): () => void {
    let heldUntilMs = this.clock.monotonicMs() + HELD_MS;
    const end = (what: string): void => {
      if (!going.signal.aborted) this.logger.warn(`Job ${name} ${what}; another process may run it now`);
      going.abort();
    };
    const renew = (): void => {
      const untilMs = this.clock.monotonicMs() + HELD_MS;
      this.store.take(name, LEASE_SECONDS).then(
        (held) => (held ? (heldUntilMs = untilMs) : end('outlived its lease')),
        (error: Error) => this.logger.warn(`The lease of job ${name} was not renewed: ${reasonOf(error)}`),
      );
    };
    const look = (): unknown => this.clock.monotonicMs() >= heldUntilMs && end('could not renew its lease');
    const timers = [setInterval(renew, (LEASE_SECONDS * SECOND) / 3), setInterval(look, SECOND)];
    return () => timers.forEach(clearInterval);
  }
}

async function runOf(job: PeriodicJob, going: AbortSignal): Promise<'ok'> {
  await job.run(going);
  return 'ok';
}

/** Rows of which one statement should always be able to delete as many: the largest have tens of megabytes each. */
const FEWEST_ROWS = 5;

/**
 * Repeats a bounded deletion until it finds less than its limit, so that no statement runs long; returns how many rows were deleted. One
 * that fails for lack of time is repeated with a quarter of the rows: the next run would begin with the same ones, and never end.
 * @throws UnavailableError when not even a few can be deleted
 */
export async function deleteInBatches(limit: number, deleteBatch: (limit: number) => Promise<number>): Promise<number> {
  let total = 0;
  for (let size = limit; ;) {
    try {
      const deleted = await deleteBatch(size);
      total += deleted;
      if (deleted < size) return total;
    } catch (error) {
      // An outage fails in the same way; it is over, or reported, after a few further attempts.
      if (!(error instanceof UnavailableError) || size <= FEWEST_ROWS) throw error;
      size = Math.max(FEWEST_ROWS, Math.floor(size / 4));
    }
  }
}
