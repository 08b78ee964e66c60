import { Injectable } from '@nestjs/common';
import { Clock } from '../../../common/clock';
import { NotFoundError } from '../../../common/errors/app-error';
import { Database } from '../../../database/database.service';
import { AuditService, OPERATOR } from '../../audit/audit.service';
import type { Domain, PauseReason, WarmingStatus } from '../domain.entity';
import { WarmUpRepository } from './warm-up.repository';

/**
 * Moves warm-ups from state to state, and writes down who did it.
 *
 * not_started → warming with the first live send (the accept path does that), warming ⇄ paused, warming → warmed; an
 * operator also takes a domain from any state to warmed, and back to not_started.
 */
@Injectable()
export class WarmUpChanges {
  constructor(
    private readonly warmUps: WarmUpRepository,
    private readonly database: Database,
    private readonly audit: AuditService,
    private readonly clock: Clock,
  ) {}

  /** Answers false when another process was first. */
  pause(domain: Domain, reason: PauseReason, actor: string, data: object): Promise<boolean> {
    const warmingPausedAt = this.clock.now();
    const fields = { warmingStatus: 'paused' as const, warmingPausedAt, warmingPauseReason: reason };
    return this.change(domain, ['warming'], fields, { actor, action: 'domain.warming_paused', data });
  }

  /** What happened before is not held against the domain again. */
  resume(domain: Domain, actor: string): Promise<boolean> {
    const fields = { warmingStatus: 'warming' as const, ...NOT_PAUSED, warmingJudgedSince: this.clock.now() };
    return this.change(domain, ['paused'], fields, { actor, action: 'domain.warming_resumed' });
  }

  finish(domain: Domain, actor: string): Promise<boolean> {
    const fields = { warmingStatus: 'warmed' as const, ...NOT_PAUSED };
    return this.change(domain, ['not_started', 'warming', 'paused'], fields, { actor, action: 'domain.warmed' });
  }

  restart(domain: Domain, actor: string): Promise<boolean> {
    const fields = {
      ...{ warmingStatus: 'not_started' as const, warmingStartedAt: null, ...NOT_PAUSED },
      warmingJudgedSince: this.clock.now(),
    };
    return this.change(domain, ['warming', 'paused', 'warmed'], fields, { actor, action: 'domain.warming_restarted' });
  }

  /**
   * What an operator asks for; a domain that is in the wanted state already stays as it is.
   * @throws NotFoundError
   */
  async byOperator(id: string, change: 'resume' | 'finish' | 'restart'): Promise<Domain> {
    await this[change](await this.find(id), OPERATOR);
    return this.find(id);
  }

  private async find(id: string): Promise<Domain> {
    const domain = await this.warmUps.findAnywhere(id);
    if (!domain) throw new NotFoundError('Domain');
    return domain;
  }

  private change(
    domain: Domain,
    from: readonly WarmingStatus[],
    fields: Partial<Domain>,
    entry: { actor: string; action: string; data?: object },
  ): Promise<boolean> {
    const { organizationId, id: targetId } = domain;
    return this.database.transaction(async (tx) => {
      const isOurs = await this.warmUps.change(domain, from, { ...fields, updatedAt: this.clock.now() }, tx);
      if (isOurs) await this.audit.record([{ organizationId, targetType: 'domain', targetId, ...entry }], tx);
      return isOurs;
    });
  }
}

const NOT_PAUSED = { warmingPausedAt: null, warmingPauseReason: null };
