import { Injectable } from '@nestjs/common';
import { Clock } from '../../../common/clock';
import { OPERATOR } from '../../../audit/audit.service';
import type { Domain, PauseReason } from '../registry/domain.entity';
import { DomainTransitionsService } from '../registry/domain-transitions.service';

/**
 * Moves warm-ups from state to state, with an entry in the audit log.
 *
 * not_started → warming with the first live send (the accept path does that), warming ⇄ paused, warming → warmed; an
 * operator also takes a domain from any state to warmed, and back to not_started.
 */
@Injectable()
export class WarmUpChangesService {
  constructor(
    private readonly transitions: DomainTransitionsService,
    private readonly clock: Clock,
  ) {}

  /** Returns false when another process was first. */
  pause(domain: Domain, reason: PauseReason, actor: string, data: object): Promise<boolean> {
    const warmingPausedAt = this.clock.now();
    const fields = { warmingStatus: 'paused' as const, warmingPausedAt, warmingPauseReason: reason };
    return this.transitions.move(domain, { warmingStatus: ['warming'] }, fields, {
      actor,
      action: 'domain.warming_paused',
      data,
    });
  }

  /** What happened before is not held against the domain again. */
  resume(domain: Domain, actor: string): Promise<boolean> {
    const fields = { warmingStatus: 'warming' as const, ...NOT_PAUSED, warmingEvaluatedSince: this.clock.now() };
    const entry = { actor, action: 'domain.warming_resumed' };
    return this.transitions.move(domain, { warmingStatus: ['paused'] }, fields, entry);
  }

  /** What happened before is the warm-up's, and does not slow the domain afterwards. */
  finish(domain: Domain, actor: string): Promise<boolean> {
    const fields = { warmingStatus: 'warmed' as const, ...NOT_PAUSED, warmingEvaluatedSince: this.clock.now() };
    const expected = { warmingStatus: ['not_started', 'warming', 'paused'] as const };
    return this.transitions.move(domain, expected, fields, { actor, action: 'domain.warmed' });
  }

  restart(domain: Domain, actor: string): Promise<boolean> {
    const fields = {
      ...{ warmingStatus: 'not_started' as const, warmingStartedAt: null, ...NOT_PAUSED },
      warmingEvaluatedSince: this.clock.now(),
    };
    const expected = { warmingStatus: ['warming', 'paused', 'warmed'] as const };
    return this.transitions.move(domain, expected, fields, { actor, action: 'domain.warming_restarted' });
  }

  /**
   * A change by the operator; a domain that is in the wanted state already stays as it is.
   * @throws NotFoundError
   */
  async byOperator(id: string, change: 'resume' | 'finish' | 'restart'): Promise<Domain> {
    await this[change](await this.transitions.find(id), OPERATOR);
    return this.transitions.find(id);
  }
}

const NOT_PAUSED = { warmingPausedAt: null, warmingPauseReason: null };
