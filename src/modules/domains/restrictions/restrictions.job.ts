import { Injectable, Logger, type OnApplicationBootstrap, type OnModuleInit } from '@nestjs/common';
import { SYSTEM } from '../../../audit/audit.service';
import { forEachPage } from '../../../common/async/promises';
import { Clock, HOUR, MINUTE } from '../../../common/clock';
import { InstallationGauges } from '../../../common/jobs/installation-gauges';
import { PeriodicJobs } from '../../../common/jobs/periodic-jobs';
import { AppConfig } from '../../../config/config';
import { type DomainOwner, StatsService } from '../../stats/stats.service';
import type { Domain } from '../registry/domain.entity';
import {
  evaluatedFrom,
  evaluateRestriction,
  LIMITS_PER_MILLE,
  MIN_RECIPIENTS,
  NO_COUNTS,
  type SendingRecord,
} from './evaluate-restriction';
import { RestrictionsRepository } from './restrictions.repository';
import { RestrictionsService } from './restrictions.service';
import { WarmUpService } from './warm-up.service';

/** Metric: the number of restricted domains, reported by one worker. */
@Injectable()
export class RestrictionsMetrics implements OnModuleInit {
  constructor(
    private readonly restrictions: RestrictionsService,
    private readonly gauges: InstallationGauges,
  ) {}

  onModuleInit(): void {
    const gauge = { name: 'domains_restricted', help: 'Domains that are slowed or paused', label: 'status' };
    this.gauges.showOfWorkers(gauge, async () => {
      const { slowed, paused } = await this.restrictions.count();
      return { slowed, paused };
    });
  }
}

const BATCH = 500;
const LIMITS = { minRecipients: MIN_RECIPIENTS, perMille: LIMITS_PER_MILLE };

/**
 * Slows and pauses domains with too many bounces or complaints, and resumes them; `WarmUpJob` evaluates domains in their
 * warm-up. Reads only domains above a limit and restricted ones, however many send. Not in local mode, where nothing leaves
 * the machine.
 */
@Injectable()
export class RestrictionsJob implements OnApplicationBootstrap {
  private readonly logger = new Logger(RestrictionsJob.name);

  constructor(
    private readonly restrictions: RestrictionsService,
    private readonly stats: StatsService,
    private readonly warmUp: WarmUpService,
    private readonly jobs: PeriodicJobs,
    private readonly clock: Clock,
    private readonly config: AppConfig,
  ) {}

  onApplicationBootstrap(): void {
    if (this.config.delivery.mode === 'local') return;
    this.jobs.start({ name: 'evaluate-restrictions', everyMs: MINUTE, exclusive: true, run: () => this.run() });
  }

  /** One run over all domains. When several processes run it, each change is made once. */
  async run(): Promise<void> {
    const now = this.clock.now();
    await forEachPage(
      (after: Domain | undefined) => this.restrictions.list(after, BATCH),
      (page) => this.evaluate(page, now),
    );
    await forEachPage(
      (after: DomainOwner | undefined) => this.stats.findAbove(LIMITS, evaluatedFrom(now), after, BATCH),
      async (page) => {
        const active = await this.restrictions.findActive(page);
        await this.evaluate(
          active.filter((domain) => !this.warmUp.isUnderWay(domain)),
          now,
        );
      },
    );
  }

  private async evaluate(domains: readonly Domain[], now: Date): Promise<void> {
    const slowed = domains.filter(({ sending }) => sending.status === 'slowed');
    const day = await this.count(domains, ({ sending, warmingEvaluatedSince }) =>
      evaluatedFrom(now, sending.evaluatedSince, warmingEvaluatedSince),
    );
    const sinceChange = await this.count(slowed, ({ sending }) => sending.since ?? now);
    for (const domain of domains) {
      const record = { day: day.get(domain.id) ?? NO_COUNTS, sinceChange: sinceChange.get(domain.id) ?? NO_COUNTS };
      await this.jobs.attempt(`The restriction of domain ${domain.id}`, () => this.apply(domain, record, now));
    }
  }

  private count(domains: readonly Domain[], since: (domain: Domain) => Date) {
    return this.stats.sumLive(
      domains.map((domain) => ({ organizationId: domain.organizationId, domainId: domain.id, since: since(domain) })),
    );
  }

  private async apply(domain: Domain, record: SendingRecord, now: Date): Promise<void> {
    const decision = evaluateRestriction(domain.sending, record, now);
    switch (decision.change) {
      case 'slow':
      case 'pause':
        if (await this.restrictions[decision.change](domain, decision.reason, record.day)) {
          this.logger.warn({ msg: `Sending is ${PAST[decision.change]}`, domainId: domain.id, ...record.day });
        }
        return;
      case 'ease':
        if (await this.restrictions.ease(domain)) {
          this.logger.log({ msg: 'Sending continues slowly', domainId: domain.id });
        }
        return;
      case 'resume':
        if (await this.restrictions.resume(domain, SYSTEM)) {
          this.logger.log({ msg: 'Sending is resumed', domainId: domain.id });
        }
        return;
      case 'note':
        await this.restrictions.note(domain, decision.belowSince);
        return;
      case 'none':
        return;
    }
  }
}

const PAST = { slow: 'slowed', pause: 'paused' } as const;

const SCORED_AT_ONCE = 500;

/** Updates the domains' reputation scores from the live mail of the last 30 days. */
@Injectable()
export class ReputationJob implements OnApplicationBootstrap {
  constructor(
    private readonly domains: RestrictionsRepository,
    private readonly stats: StatsService,
    private readonly jobs: PeriodicJobs,
  ) {}

  onApplicationBootstrap(): void {
    this.jobs.start({ name: 'refresh-reputation', everyMs: HOUR, exclusive: true, run: () => this.run() });
  }

  /** One run over all domains; returns the number of changed scores. */
  async run(): Promise<number> {
    let changed = 0;
    await forEachPage(
      (after: DomainOwner | undefined) => this.domains.findKeys(after, SCORED_AT_ONCE),
      async (page) => {
        changed += await this.evaluate(page);
      },
    );
    return changed;
  }

  private async evaluate(domains: readonly DomainOwner[]): Promise<number> {
    const reputations = await this.stats.reputationsOf(domains);
    return this.domains.writeScores(
      domains.map((domain) => ({ ...domain, score: reputations.get(domain.domainId)?.overallScore ?? 100 })),
    );
  }
}
