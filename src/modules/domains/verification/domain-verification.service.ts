import { Injectable } from '@nestjs/common';
import { NotFoundError } from '../../../common/errors/app-error';
import { isUuid } from '../../../common/ids';
import { SYSTEM } from '../../../audit/audit.service';
import type { Domain } from '../domain.entity';
import { DomainsRepository } from '../domains.repository';
import { ConcurrencyLimit } from './concurrency-limit';
import { LiveRecordsService } from './live-records.service';
import { LookRecorder } from './look-recorder.service';
import { type CheckedRecord, checkOf } from './record-state';

/** Domains looked at on request at a time in one process: at most some 800 queries within ten seconds. */
const MAXIMUM_AT_ONCE = 20;

export interface VerifiedRecord extends CheckedRecord {
  /** What the DNS says; what it said before while it cannot be reached. */
  readonly verified: boolean;
}

export interface DomainVerification {
  /** As it is afterwards. */
  readonly domain: Domain;
  readonly checks: readonly VerifiedRecord[];
}

/**
 * Looks at the records of a domain in live DNS and draws the conclusions. Every call looks for itself: whoever has just
 * edited the zone must not be answered from before that. No transaction is open during the look-ups.
 */
@Injectable()
export class DomainVerificationService {
  private readonly limit = new ConcurrencyLimit(MAXIMUM_AT_ONCE);

  constructor(
    private readonly domains: DomainsRepository,
    private readonly records: LiveRecordsService,
    private readonly recorder: LookRecorder,
  ) {}

  /**
   * @param actor a key's id or `operator`
   * @throws NotFoundError
   */
  verifyNow(organizationId: string, domainId: string, actor: string): Promise<DomainVerification> {
    return this.limit.run(() => this.verify(organizationId, domainId, actor));
  }

  /** The same by itself; whoever asks for much at once bounds it. @throws NotFoundError */
  recheck(organizationId: string, domainId: string): Promise<DomainVerification> {
    return this.verify(organizationId, domainId, SYSTEM);
  }

  private async verify(organizationId: string, domainId: string, actor: string): Promise<DomainVerification> {
    const known = isUuid(domainId) ? await this.domains.find(organizationId, domainId) : null;
    if (!known) throw new NotFoundError('Domain');
    const live = await this.records.look(known);
    const { domain, states } = await this.recorder.record(known, live, actor);
    const checks = live.checked.flatMap(({ record }, index) => {
      const state = states[index];
      return state ? [{ record, check: checkOf(state), verified: state.verified }] : [];
    });
    return { domain, checks };
  }
}
