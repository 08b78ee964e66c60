import { Injectable, Logger } from '@nestjs/common';
import { Clock, DAY } from '../../../../common/clock';
import { forEachPage } from '../../../../common/async/promises';
import { SYSTEM } from '../../../../audit/audit.service';
import { StatsService } from '../../../stats/stats.service';
import type { Domain, PauseReason } from '../../domain.entity';
import { type Counts, evidenceOf, judgedFrom, NO_COUNTS } from '../rates';
import { judgeWarmUp, type WarmUpState } from './judge-warm-up';
import { WarmUpChanges } from './warm-up-changes.service';
import { utcDay } from './warm-up-schedule';
import { WarmUpRepository } from './warm-up.repository';
import { WarmUpService } from './warm-up.service';

const BATCH = 500;

/** Pauses warm-ups that go wrong, resumes them a day later, and ends those that are through. */
@Injectable()
export class WarmUpWatch {
  private readonly logger = new Logger(WarmUpWatch.name);

  constructor(
    private readonly warmUp: WarmUpService,
    private readonly warmUps: WarmUpRepository,
    private readonly changes: WarmUpChanges,
    private readonly stats: StatsService,
    private readonly clock: Clock,
  ) {}

  /** One round over all domains in their warm-up. Of several processes, one makes each change. */
  async run(): Promise<void> {
    if (!this.warmUp.isEnabled) return;
    const now = this.clock.now();
    await forEachPage(
      (after: Domain | undefined) => this.warmUps.findUnderWay(after, BATCH),
      (page) => this.judge(page, now),
    );
    // A process whose clock lags may still be counting for yesterday.
    await this.warmUps.forgetUsage(utcDay(new Date(now.getTime() - DAY)));
  }

  private async judge(domains: readonly Domain[], now: Date): Promise<void> {
    const windows = domains.map((domain) => {
      const { organizationId, id: domainId } = domain;
      return { organizationId, domainId, since: judgedFrom(now, domain.warmingJudgedSince) };
    });
    const counts = await this.stats.sumLive(windows);
    for (const domain of domains) await this.apply(domain, counts.get(domain.id) ?? NO_COUNTS, now);
  }

  private async apply(domain: Domain, counts: Counts, now: Date): Promise<void> {
    const verdict = judgeWarmUp(stateOf(domain), counts, now);
    switch (verdict.change) {
      case 'pause':
        return this.pause(domain, verdict.reason, counts);
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
