import { Injectable, Logger } from '@nestjs/common';
import { Clock } from '../../../common/clock';
import { forEachPage } from '../../../common/async/promises';
import { SYSTEM } from '../../../audit/audit.service';
import { type DomainOwner, StatsService } from '../../stats/stats.service';
import type { Domain } from '../domain.entity';
import { WarmUpService } from './warm-up/warm-up.service';
import { judgeSuspicion, type SendingRecord } from './judge-suspicion';
import { judgedFrom, LIMITS_PER_MILLE, MIN_RECIPIENTS, NO_COUNTS } from './rates';
import { RestrictedDomainsRepository } from './restricted-domains.repository';
import { SuspicionChanges } from './suspicion-changes.service';

const BATCH = 500;
const LIMITS = { minRecipients: MIN_RECIPIENTS, perMille: LIMITS_PER_MILLE };

/**
 * Slows and pauses domains that bounce or are complained about, and lets them send again; who is in its warm-up is
 * judged there. Only domains above a limit and those held back are read, whoever else sends.
 */
@Injectable()
export class SuspicionWatch {
  private readonly logger = new Logger(SuspicionWatch.name);

  constructor(
    private readonly domains: RestrictedDomainsRepository,
    private readonly changes: SuspicionChanges,
    private readonly stats: StatsService,
    private readonly warmUp: WarmUpService,
    private readonly clock: Clock,
  ) {}

  /** One round over all domains. Of several processes, one makes each change. */
  async run(): Promise<void> {
    const now = this.clock.now();
    await forEachPage(
      (after: Domain | undefined) => this.domains.findRestricted(after, BATCH),
      (page) => this.judge(page, now),
    );
    await forEachPage(
      (after: DomainOwner | undefined) => this.stats.findAbove(LIMITS, judgedFrom(now), after, BATCH),
      async (page) => {
        const active = await this.domains.findActive(page);
        await this.judge(
          active.filter((domain) => !this.warmUp.isUnderWay(domain)),
          now,
        );
      },
    );
  }

  private async judge(domains: readonly Domain[], now: Date): Promise<void> {
    const slowed = domains.filter(({ sending }) => sending.status === 'slowed');
    const day = await this.count(domains, ({ sending, warmingJudgedSince }) =>
      judgedFrom(now, sending.judgedSince, warmingJudgedSince),
    );
    const sinceChange = await this.count(slowed, ({ sending }) => sending.since ?? now);
    for (const domain of domains) {
      const record = { day: day.get(domain.id) ?? NO_COUNTS, sinceChange: sinceChange.get(domain.id) ?? NO_COUNTS };
      await this.apply(domain, record, now);
    }
  }

  private count(domains: readonly Domain[], since: (domain: Domain) => Date) {
    return this.stats.sumLive(
      domains.map((domain) => ({ organizationId: domain.organizationId, domainId: domain.id, since: since(domain) })),
    );
  }

  private async apply(domain: Domain, record: SendingRecord, now: Date): Promise<void> {
    const verdict = judgeSuspicion(domain.sending, record, now);
    switch (verdict.change) {
      case 'slow':
      case 'pause':
        if (await this.changes[verdict.change](domain, verdict.reason, record.day)) {
          this.logger.warn({ msg: `Sending is ${PAST[verdict.change]}`, domainId: domain.id, ...record.day });
        }
        return;
      case 'ease':
        if (await this.changes.ease(domain)) this.logger.log({ msg: 'Sending goes on slowly', domainId: domain.id });
        return;
      case 'resume':
        if (await this.changes.resume(domain, SYSTEM)) {
          this.logger.log({ msg: 'Sending is resumed', domainId: domain.id });
        }
        return;
      case 'note':
        await this.changes.note(domain, verdict.belowSince);
        return;
      case 'none':
        return;
    }
  }
}

const PAST = { slow: 'slowed', pause: 'paused' } as const;
