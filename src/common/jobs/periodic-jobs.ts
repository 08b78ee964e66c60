import { Injectable, Logger, type OnModuleDestroy } from '@nestjs/common';
import { Metrics } from '../metrics/metrics';

export interface PeriodicJob {
  readonly name: string;
  /** From the end of one run to the start of the next; ± 20 % so that processes do not move in step. */
  readonly everyMs: number;
  /** Must be safe to run in several processes at once. */
  readonly run: () => Promise<unknown>;
}

const JITTER = 0.2;

/**
 * Work that recurs: promoting due mail, folding counters, making partitions. Every worker process runs every job; the
 * statements behind them skip what another process has locked. A run that fails is counted, told and repeated.
 */
@Injectable()
export class PeriodicJobs implements OnModuleDestroy {
  private readonly logger = new Logger(PeriodicJobs.name);
  private readonly timers = new Map<string, NodeJS.Timeout>();
  private readonly running = new Set<Promise<void>>();
  private stopped = false;

  constructor(private readonly metrics: Metrics) {}

  /** Starts a job; the first run comes after a part of the interval. */
  start(job: PeriodicJob): void {
    this.schedule(job, job.everyMs * Math.random() * JITTER);
  }

  /** A job that removes data whose time is over; `run` answers how many rows went, which are counted. */
  startRemoval(job: Omit<PeriodicJob, 'run'> & { readonly run: () => Promise<number> }): void {
    const rows = this.metrics.counter({
      name: 'retention_removed_rows_total',
      help: 'Rows removed because their time was over, by job',
      labels: ['job'],
    });
    this.start({ ...job, run: async () => rows.inc({ job: job.name }, await job.run()) });
  }

  async onModuleDestroy(): Promise<void> {
    this.stopped = true;
    for (const timer of this.timers.values()) clearTimeout(timer);
    await Promise.all(this.running);
  }

  private schedule(job: PeriodicJob, delayMs: number): void {
    if (this.stopped) return;
    const begin = () => {
      const run = this.runOnce(job).finally(() => this.running.delete(run));
      this.running.add(run);
    };
    this.timers.set(job.name, setTimeout(begin, delayMs));
  }

  private async runOnce(job: PeriodicJob): Promise<void> {
    const runs = this.metrics.counter({
      name: 'job_runs_total',
      help: 'Background job runs',
      labels: ['job', 'result'],
    });
    const lastSuccess = this.metrics.gauge({
      name: 'job_last_success_timestamp_seconds',
      help: 'When a background job last ran to its end in this process',
      labels: ['job'],
    });
    try {
      await job.run();
      runs.inc({ job: job.name, result: 'ok' });
      lastSuccess.setToCurrentTime({ job: job.name });
    } catch (error) {
      runs.inc({ job: job.name, result: 'failed' });
      this.logger.warn(`Job ${job.name} failed: ${(error as Error).message}`);
    }
    this.schedule(job, job.everyMs * (1 - JITTER + 2 * JITTER * Math.random()));
  }
}
