import { Injectable } from '@nestjs/common';
import { OPERATOR, SYSTEM } from '../../../audit/audit.service';
import { Clock } from '../../../common/clock';
import type { Domain, PauseReason, SendingState } from '../registry/domain.entity';
import { DomainTransitionsService } from '../registry/domain-transitions.service';
import { type Counts, evidenceOf, slowedLimit } from './evaluate-restriction';
import { RestrictionsRepository } from './restrictions.repository';

export type { Domain as RestrictedDomain };

/**
 * Restrictions of domains, of all organizations. Slows, pauses and resumes their sending with an entry in the audit log; each
 * change returns false when another process was faster.
 */
@Injectable()
export class RestrictionsService {
  constructor(
    private readonly domains: RestrictionsRepository,
    private readonly transitions: DomainTransitionsService,
    private readonly clock: Clock,
  ) {}

  /** Slowed and paused domains in key order, after the given one. */
  list(after: Pick<Domain, 'organizationId' | 'id'> | undefined, limit: number): Promise<Domain[]> {
    return this.domains.findRestricted(after, limit);
  }

  /** The given domains without the restricted ones. */
  findActive(owners: readonly { readonly organizationId: string; readonly domainId: string }[]): Promise<Domain[]> {
    return this.domains.findActive(owners);
  }

  count(): Promise<{ slowed: number; paused: number }> {
    return this.domains.countRestricted();
  }

  slow(domain: Domain, reason: PauseReason, counts: Counts): Promise<boolean> {
    const dailyLimit = slowedLimit(counts);
    const data = { reason, ...evidenceOf(counts), dailyLimit };
    return this.move(domain, { status: 'slowed', reason, dailyLimit }, SYSTEM, data);
  }

  pause(domain: Domain, reason: PauseReason, counts: Counts): Promise<boolean> {
    return this.move(domain, { status: 'paused', reason }, SYSTEM, { reason, ...evidenceOf(counts) });
  }

  /** Ends a pause: the domain becomes slowed, and earlier results no longer count. */
  ease(domain: Domain): Promise<boolean> {
    const { reason, dailyLimit } = domain.sending;
    const data = { reason, dailyLimit, after: 'pause' };
    return this.move(domain, { status: 'slowed', evaluatedSince: this.clock.now() }, SYSTEM, data);
  }

  resume(domain: Domain, actor: string): Promise<boolean> {
    const freely = { status: 'active' as const, reason: null, dailyLimit: null };
    // After a decision of the operator, earlier results no longer count.
    const fields = actor === OPERATOR ? { ...freely, evaluatedSince: this.clock.now() } : freely;
    return this.move(domain, fields, actor, {});
  }

  /** Stores since when a slowed domain has been below its limits, without an audit entry. */
  note(domain: Domain, belowSince: Date | null): Promise<boolean> {
    return this.transitions.move(domain, { sending: domain.sending }, { sending: { belowSince } });
  }

  /** Pauses a domain in any state, or gives the operator's pause another reason; only the operator can end it. @throws NotFoundError */
  async pauseByOperator(id: string, note: string): Promise<Domain> {
    return this.transitions.decide(id, async (domain) => {
      const { status, reason, since, note: known } = domain.sending;
      const isPaused = status === 'paused' && reason === 'operator';
      if (isPaused && known === note) return true;
      const fields = { status: 'paused' as const, reason: 'operator' as const, note, ...(isPaused && { since }) };
      return this.move(domain, fields, OPERATOR, { reason: 'operator', note });
    });
  }

  /** Resumes a domain; one that is not restricted stays as it is. @throws NotFoundError */
  async resumeByOperator(id: string): Promise<Domain> {
    return this.transitions.decide(
      id,
      async (domain) => domain.sending.status === 'active' || this.resume(domain, OPERATOR),
    );
  }

  private move(
    domain: Domain,
    fields: Partial<SendingState> & Pick<SendingState, 'status'>,
    actor: string,
    data: object,
  ): Promise<boolean> {
    const action = fields.status === 'active' ? 'domain.sending_resumed' : `domain.sending_${fields.status}`;
    const sending = { note: null, belowSince: null, since: this.clock.now(), ...fields };
    return this.transitions.move(domain, { sending: domain.sending }, { sending }, { actor, action, data });
  }
}
