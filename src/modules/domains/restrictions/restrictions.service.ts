import { Injectable } from '@nestjs/common';
import { OPERATOR, SYSTEM } from '../../../audit/audit.service';
import { Clock } from '../../../common/clock';
import type { Domain, PauseReason, SendingState } from '../registry/domain.entity';
import { DomainTransitionsService } from '../registry/domain-transitions.service';
import { type Counts, evidenceOf, slowedLimit } from './evaluate-restriction';
import { RestrictionsRepository } from './restrictions.repository';

/**
 * Which domains are restricted, of every organization. Slows, pauses and resumes their sending with an entry in the audit
 * log; each change returns false when another process was first.
 */
@Injectable()
export class RestrictionsService {
  constructor(
    private readonly domains: RestrictionsRepository,
    private readonly transitions: DomainTransitionsService,
    private readonly clock: Clock,
  ) {}

  /** Slowed and paused domains in key order, after the given one. */
  list(after: Domain | undefined, limit: number): Promise<Domain[]> {
    return this.domains.findRestricted(after, limit);
  }

  /** Those of the domains that are not restricted. */
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

  /** The end of a pause: the domain sends slowly, and earlier results do not count again. */
  ease(domain: Domain): Promise<boolean> {
    const { reason, dailyLimit } = domain.sending;
    const data = { reason, dailyLimit, after: 'pause' };
    return this.move(domain, { status: 'slowed', evaluatedSince: this.clock.now() }, SYSTEM, data);
  }

  resume(domain: Domain, actor: string): Promise<boolean> {
    const freely = { status: 'active' as const, reason: null, dailyLimit: null };
    // The operator vouches for the domain: earlier results do not count again.
    const fields = actor === OPERATOR ? { ...freely, evaluatedSince: this.clock.now() } : freely;
    return this.move(domain, fields, actor, {});
  }

  /** Without an entry in the audit log. */
  note(domain: Domain, belowSince: Date | null): Promise<boolean> {
    return this.transitions.move(domain, { sending: domain.sending }, { sending: { belowSince } });
  }

  /** In whatever state the domain is; only the operator ends this. @throws NotFoundError */
  async pauseByOperator(id: string, note: string): Promise<Domain> {
    const domain = await this.transitions.find(id);
    const { status, reason } = domain.sending;
    if (status !== 'paused' || reason !== 'operator') {
      await this.move(domain, { status: 'paused', reason: 'operator', note }, OPERATOR, { reason: 'operator', note });
    }
    return this.transitions.find(id);
  }

  /** A domain that is not restricted stays as it is. @throws NotFoundError */
  async resumeByOperator(id: string): Promise<Domain> {
    const domain = await this.transitions.find(id);
    if (domain.sending.status !== 'active') await this.resume(domain, OPERATOR);
    return this.transitions.find(id);
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
