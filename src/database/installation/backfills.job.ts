import { setTimeout as delay } from 'node:timers/promises';
import { Injectable, Logger, type OnApplicationBootstrap } from '@nestjs/common';
import { Clock, SECOND } from '../../common/clock';
import { PeriodicJobs } from '../../common/jobs/periodic-jobs';
import { Database } from '../pool/database.service';
import type { Backfill } from './backfill';
import type { BackfillRun } from './installation.entity';
import { BackfillRunsRepository } from './installation.repository';

/** After a batch it rests for as many times as long as the batch took: mail goes first. */
const REST = 3;
const RECORD_EVERY_MS = 30 * SECOND;

/** How far one has come, for people. */
export interface BackfillProgress {
  readonly name: string;
  readonly isFinished: boolean;
  /** 0 to 100; an estimate until it is finished. */
  readonly percent: number;
  readonly examined: number;
  readonly changed: number;
}

/** Runs the backfills that features register, one after the other, in one process at a time. */
@Injectable()
export class BackfillsJob implements OnApplicationBootstrap {
  private readonly logger = new Logger(BackfillsJob.name);
  private readonly registered: Backfill[] = [];

  constructor(
    private readonly runs: BackfillRunsRepository,
    private readonly database: Database,
    private readonly jobs: PeriodicJobs,
    private readonly clock: Clock,
  ) {}

  /** To be called before the application has started: `onModuleInit`. */
  register(backfill: Backfill): void {
    this.registered.push(backfill);
  }

  onApplicationBootstrap(): void {
    this.jobs.start({ name: 'backfills', everyMs: RECORD_EVERY_MS, exclusive: true, run: () => this.run() });
  }

  /** Ends when all are finished, or with the process; the next run continues from there. */
  async run(): Promise<void> {
    for (let open = this.registered.shift(); open; open = this.registered.shift()) {
      try {
        if (!(await this.finish(open))) return void this.registered.unshift(open);
      } catch (error) {
        this.registered.push(open);
        throw error;
      }
    }
  }

  /** All that have begun. */
  async progress(): Promise<BackfillProgress[]> {
    return (await this.runs.list()).map(describe);
  }

  /** @returns false when the process ends first */
  private async finish(backfill: Backfill): Promise<boolean> {
    const { name } = backfill;
    if ((await this.runs.find(name))?.finishedAt) return true;
    await this.runs.begin(name, await backfill.estimate(), this.clock.now());
    for (let loggedAt = -Infinity; !this.jobs.ending.aborted;) {
      const beganAt = this.clock.monotonicMs();
      const run = await this.step(backfill);
      const isLogged = run.finishedAt === null && beganAt - loggedAt < RECORD_EVERY_MS;
      if (!isLogged) this.logProgress(run);
      if (run.finishedAt) return true;
      if (!isLogged) loggedAt = beganAt;
      await this.rest(REST * (this.clock.monotonicMs() - beganAt));
    }
    return false;
  }

  private step(backfill: Backfill): Promise<BackfillRun> {
    return this.database.transaction(async (tx) => {
      const run = await this.runs.lock(backfill.name, tx);
      if (run.finishedAt) return run;
      return this.runs.advance(run, await backfill.next(run.position, tx), this.clock.now(), tx);
    });
  }

  private logProgress(run: BackfillRun): void {
    const { name, isFinished, percent, examined, changed } = describe(run);
    const state = isFinished ? 'finished' : `${percent} %`;
    this.logger.log(`Backfill ${name}: ${state}, ${examined} rows examined, ${changed} changed`);
  }

  private async rest(ms: number): Promise<void> {
    await delay(ms, undefined, { signal: this.jobs.ending }).catch(() => undefined);
  }
}

function describe({ name, total, examined, changed, finishedAt }: BackfillRun): BackfillProgress {
  const share = Math.min(99, Math.floor((100 * Number(examined)) / Math.max(1, Number(total))));
  return {
    name,
    isFinished: finishedAt !== null,
    percent: finishedAt ? 100 : share,
    examined: Number(examined),
    changed: Number(changed),
  };
}
