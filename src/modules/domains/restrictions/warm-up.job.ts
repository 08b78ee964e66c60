import { Injectable, Logger, type OnApplicationBootstrap } from '@nestjs/common';
import { SYSTEM } from '../../../audit/audit.service';
import { Clock, DAY, MINUTE } from '../../../common/clock';
import { forEachPage } from '../../../common/async/promises';
import { PeriodicJobs } from '../../../common/jobs/periodic-jobs';
import { StatsService } from '../../stats/stats.service';
import type { Domain, PauseReason } from '../registry/domain.entity';
import { type Counts, evaluatedFrom, evidenceOf, NO_COUNTS } from './evaluate-restriction';
import { RestrictionsRepository } from './restrictions.repository';
import { WarmUpChangesService, WarmUpService } from './warm-up.service';
import { evaluateWarmUp, utcDay, type WarmUpState } from './warm-up-schedule';

const BATCH = 500;

/** Pauses warm-ups with too many bounces or complaints, resumes them a day later, and ends completed ones. */
@Injectable()
export class WarmUpJob implements OnApplicationBootstrap {
  private readonly logger = new Logger(WarmUpJob.name);

  constructor(
    private readonly warmUp: WarmUpService,
    private readonly warmUps: RestrictionsRepository,
    private readonly changes: WarmUpChangesService,
    private readonly stats: StatsService,
    private readonly jobs: PeriodicJobs,
    private readonly clock: Clock,
  ) {}

  onApplicationBootstrap(): void {
    this.jobs.start({ name: 'evaluate-warm-ups', everyMs: MINUTE, exclusive: true, run: () => this.run() });
  }

  /** One run over all domains in their warm-up. When several processes run it, each change is made once. */
  async run(): Promise<void> {
    if (!this.warmUp.isEnabled) return;
    const now = this.clock.now();
    await forEachPage(
      (after: Domain | undefined) => this.warmUps.findWarming(after, BATCH),
      (page) => this.evaluate(page, now),
    );
    // A process whose clock is behind may still count for yesterday.
    await this.warmUps.deleteUsage(utcDay(new Date(now.getTime() - DAY)));
  }

  private async evaluate(domains: readonly Domain[], now: Date): Promise<void> {
    const windows = domains.map((domain) => {
      const { organizationId, id: domainId } = domain;
      return { organizationId, domainId, since: evaluatedFrom(now, domain.warmingEvaluatedSince) };
    });
    const counts = await this.stats.sumLive(windows);
    for (const domain of domains) {
      const counted = counts.get(domain.id) ?? NO_COUNTS;
      await this.jobs.attempt(`The warm-up of domain ${domain.id}`, () => this.apply(domain, counted, now));
    }
  }

  private async apply(domain: Domain, counts: Counts, now: Date): Promise<void> {
    const decision = evaluateWarmUp(stateOf(domain), counts, now);
    switch (decision.change) {
      case 'pause':
        return this.pause(domain, decision.reason, counts);
      case 'resume':
        if (await this.changes.resume(domain, SYSTEM)) this.logger.log(`The warm-up of ${domain.domain} is resumed`);
        return;
      case 'finish':
        if (await this.changes.finish(domain, SYSTEM)) this.logger.log(`${domain.domain} is warmed up`);
        return;
      case 'none':
        return;
    }
  }

  private async pause(domain: Domain, reason: PauseReason, counts: Counts): Promise<void> {
    const { recipients, bounced, complaints } = evidenceOf(counts);
    const data = { reason, recipients, bounced, complaints };
    if (!(await this.changes.pause(domain, reason, SYSTEM, data))) return;
    this.logger.warn(
      `The warm-up of ${domain.domain} is paused for its ${reason}: ${bounced} bounces and ${complaints} complaints ` +
        `of ${recipients} recipients`,
    );
  }
}

function stateOf(domain: Domain): WarmUpState {
  return {
    status: domain.warmingStatus,
    startedAt: domain.warmingStartedAt,
    pausedAt: domain.warmingPausedAt,
  };
}
