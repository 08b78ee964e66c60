import { Injectable, Logger, type OnApplicationBootstrap, type OnModuleInit } from '@nestjs/common';
import type { Counter } from 'prom-client';
import { BriefCache } from '../../common/async/promises';
import { Clock, DAY, HOUR, MINUTE, SECOND } from '../../common/clock';
import { reasonOf } from '../../common/errors/app-error';
import { deleteInBatches, PeriodicJobs } from '../../common/jobs/periodic-jobs';
import { InstallationGauges } from '../../common/jobs/installation-gauges';
import { Metrics } from '../../common/metrics/metrics';
import { PlannerStatistics } from '../../database/pool/planner-statistics';
import { ErasureHandler } from './erasure/erasure-handler.service';
import { ExportHandler } from './export/export-handler.service';
import type { PrivacyRequestType } from './requests/privacy-request.entity';
import { PrivacyExportPartsRepository, PrivacyRequestsRepository } from './requests/privacy-requests.repository';
import {
  type LeasedRequest,
  LeaseLostError,
  type PrivacyRequestHandler,
  PrivacyWork,
} from './requests/privacy-work.service';

const TYPES: readonly PrivacyRequestType[] = ['article_15_access', 'article_17_erasure'];

/** Longer than the law allows: after that an answer is late, and the alert has been read. */
const FAILED_COUNT_MS = 40 * DAY;
/** Failed requests are looked for in the whole table. */
const FAILED_CACHE_MS = 5 * MINUTE;

/**
 * Metrics: attempts of this process, and the age of the installation's oldest request without an answer; the GDPR allows a month
 * (article 12). One that has failed has none either, until it has been made again.
 */
@Injectable()
export class PrivacyMetrics implements OnModuleInit {
  private readonly runs: Counter;
  private readonly oldestFailed: BriefCache<Date | null>;

  constructor(
    private readonly requests: PrivacyRequestsRepository,
    private readonly gauges: InstallationGauges,
    private readonly clock: Clock,
    metrics: Metrics,
  ) {
    this.runs = metrics.counter({
      name: 'privacy_runs_total',
      help: 'Attempts at privacy requests',
      labels: { type: TYPES, result: ['ok', 'failed'] },
    });
    const find = () => requests.oldestFailed(new Date(clock.now().getTime() - FAILED_COUNT_MS));
    this.oldestFailed = new BriefCache(find, FAILED_CACHE_MS, clock);
  }

  onModuleInit(): void {
    const name = 'privacy_oldest_request_seconds';
    const help = 'How long the oldest privacy request waits that is open, or has failed and not been made again';
    this.gauges.showOfWorkers({ name, help }, () => this.oldestSeconds());
  }

  /** 0 without any. @throws UnavailableError */
  async oldestSeconds(): Promise<number> {
    const nowMs = this.clock.now().getTime();
    const dates = await Promise.all([this.requests.oldestOpen(), this.oldestFailed.get()]);
    return Math.max(...dates.map((date) => (nowMs - (date?.getTime() ?? nowMs)) / SECOND));
  }

  countRun(type: PrivacyRequestType, result: 'ok' | 'failed'): void {
    this.runs.inc({ type, result });
  }
}

const EVERY_MS = 2 * SECOND;
/** Turns of one run of the job; then other processes have theirs. */
const MAX_TURNS = 20;

/** Processes privacy requests: each process one of each type at a time, some pages per turn, round robin over the organizations. */
@Injectable()
export class PrivacyRequestsJob implements OnApplicationBootstrap {
  private readonly logger = new Logger(PrivacyRequestsJob.name);

  constructor(
    private readonly exports: ExportHandler,
    private readonly erasures: ErasureHandler,
    private readonly work: PrivacyWork,
    private readonly metrics: PrivacyMetrics,
    private readonly jobs: PeriodicJobs,
  ) {}

  onApplicationBootstrap(): void {
    for (const handler of [this.exports, this.erasures]) {
      const name = `privacy-requests-${handler.type.replaceAll('_', '-')}`;
      const hasWork = this.work.hasOpen(handler.type);
      this.jobs.start({ name, everyMs: EVERY_MS, hasWork, run: () => this.workOff(handler) });
    }
  }

  /** Processes the open requests, up to MAX_TURNS turns. @throws UnavailableError */
  async workOff(handler: PrivacyRequestHandler): Promise<void> {
    for (let count = 0; count < MAX_TURNS && !this.jobs.ending.aborted; count += 1) {
      const leased = await this.work.claimNext(handler.type);
      if (!leased) return;
      await this.handle(handler, leased);
    }
  }

  private async handle(handler: PrivacyRequestHandler, leased: LeasedRequest): Promise<void> {
    try {
      await handler.run(leased, this.jobs.ending);
      this.metrics.countRun(handler.type, 'ok');
    } catch (error) {
      if (error instanceof LeaseLostError) return;
      this.metrics.countRun(handler.type, 'failed');
      const { id, organizationId } = leased;
      this.logger.warn(`Privacy request ${id} of organization ${organizationId} failed: ${reasonOf(error)}`);
      await this.retryLater(leased);
    }
  }

  private async retryLater(leased: LeasedRequest): Promise<void> {
    try {
      await this.work.retryLater(leased);
    } catch (error) {
      if (!(error instanceof LeaseLostError)) throw error;
    }
  }
}

/** Parts per statement, of about 1 MiB each at most. */
const BATCH = 100;

/** Deletes results whose retention period is over; the requests stay. */
@Injectable()
export class CleanUpExportsJob implements OnApplicationBootstrap {
  constructor(
    private readonly parts: PrivacyExportPartsRepository,
    private readonly jobs: PeriodicJobs,
    private readonly clock: Clock,
  ) {}

  onApplicationBootstrap(): void {
    this.jobs.startRemoval({
      name: 'clean-up-exports',
      everyMs: 5 * MINUTE,
      run: () => this.cleanUp(),
    });
  }

  /** Deletes in batches, so that no statement runs long. Returns the number of deleted parts. */
  cleanUp(): Promise<number> {
    const now = this.clock.now();
    return deleteInBatches(BATCH, (limit) => this.parts.deleteOld(now, limit));
  }
}

/** Samples that were being taken while the last page was erased, and clocks that differ. */
const MARGIN_MS = MINUTE;
/** With many erasures each table is analyzed twice a day. */
const MIN_AGE_MS = 12 * HOUR;

/** Removes what has been erased from the samples of values that Postgres keeps for its planner. */
@Injectable()
export class RenewStatisticsJob implements OnApplicationBootstrap {
  constructor(
    private readonly requests: PrivacyRequestsRepository,
    private readonly statistics: PlannerStatistics,
    private readonly jobs: PeriodicJobs,
    private readonly clock: Clock,
  ) {}

  onApplicationBootstrap(): void {
    this.jobs.start({ name: 'renew-statistics', everyMs: HOUR, exclusive: true, run: (going) => this.renew(going) });
  }

  /** Renews the samples that are older than the last erasure and than MIN_AGE_MS. */
  async renew(going?: AbortSignal): Promise<void> {
    const erasedAt = await this.requests.newestErasure();
    if (!erasedAt) return;
    const moment = Math.min(erasedAt.getTime() + MARGIN_MS, this.clock.now().getTime() - MIN_AGE_MS);
    await this.statistics.renewOlderThan(new Date(moment), going);
  }
}
