import { Injectable } from '@nestjs/common';
import { Clock } from '../../../common/clock';
import { OPERATOR, SYSTEM } from '../../../audit/audit.service';
import type { Domain, PauseReason, SendingState } from '../domain.entity';
import { DomainTransitions } from '../domain-transitions.service';
import { slowedLimit } from './judge-suspicion';
import { type Counts, evidenceOf } from './rates';

/** Slows, pauses and resumes the sending of domains, and writes down who did it; each answers false when others were first. */
@Injectable()
export class SuspicionChanges {
  constructor(
    private readonly transitions: DomainTransitions,
    private readonly clock: Clock,
  ) {}

  slow(domain: Domain, reason: PauseReason, counts: Counts): Promise<boolean> {
    const dailyLimit = slowedLimit(counts);
    const data = { reason, ...evidenceOf(counts), dailyLimit };
    return this.move(domain, { status: 'slowed', reason, dailyLimit }, SYSTEM, data);
  }

  pause(domain: Domain, reason: PauseReason, counts: Counts): Promise<boolean> {
    return this.move(domain, { status: 'paused', reason }, SYSTEM, { reason, ...evidenceOf(counts) });
  }

  /** The end of a pause: the domain sends slowly, and what happened before is not held against it again. */
  ease(domain: Domain): Promise<boolean> {
    const { reason, dailyLimit } = domain.sending;
    const data = { reason, dailyLimit, after: 'pause' };
    return this.move(domain, { status: 'slowed', judgedSince: this.clock.now() }, SYSTEM, data);
  }

  resume(domain: Domain, actor: string): Promise<boolean> {
    const freely = { status: 'active' as const, reason: null, dailyLimit: null };
    // The operator vouches for the domain: what happened before is not held against it again.
    const fields = actor === OPERATOR ? { ...freely, judgedSince: this.clock.now() } : freely;
    return this.move(domain, fields, actor, {});
  }

  /** Not written down. */
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

  /** A domain that is not held back stays as it is. @throws NotFoundError */
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
