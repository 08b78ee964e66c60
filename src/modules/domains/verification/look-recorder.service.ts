import { Injectable } from '@nestjs/common';
import { Clock } from '../../../common/clock';
import { NotFoundError } from '../../../common/errors/app-error';
import { violatedConstraint } from '../../../database/database-errors';
import { Database } from '../../../database/database.service';
import type { Transaction } from '../../../database/transaction';
import { type AuditRecord, AuditService } from '../../../audit/audit.service';
import type { DkimKey } from '../dkim/dkim-key.entity';
import { DkimKeysService } from '../dkim/dkim-keys.service';
import type { Domain } from '../domain.entity';
import { applyChecks, type Conclusion } from './apply-checks';
import type { LiveRecords } from './live-records.service';
import { nextCheckAt } from './next-check-at';
import type { RecordState } from './record-state';
import { VerificationRepository } from './verification.repository';

const MAXIMUM_ATTEMPTS = 3;

export interface RecordedLook {
  readonly domain: Domain;
  /** In the order of the checked records. */
  readonly states: readonly RecordState[];
}

/** Draws the conclusions from a look at the DNS and writes them down, all or nothing. */
@Injectable()
export class LookRecorder {
  constructor(
    private readonly repository: VerificationRepository,
    private readonly keys: DkimKeysService,
    private readonly audit: AuditService,
    private readonly database: Database,
    private readonly clock: Clock,
  ) {}

  /** @throws NotFoundError when the domain has been removed meanwhile */
  async record(domain: Domain, live: LiveRecords, actor: string): Promise<RecordedLook> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await this.database.transaction((tx) => this.write(domain, live, actor, tx));
      } catch (error) {
        // Another organization has verified the name in this moment: the next attempt sees that it is taken.
        if (attempt < MAXIMUM_ATTEMPTS && violatedConstraint(error) === 'domains_verified_name') continue;
        throw error;
      }
    }
  }

  private async write(looked: Domain, live: LiveRecords, actor: string, tx: Transaction): Promise<RecordedLook> {
    const owner = { organizationId: looked.organizationId, domainId: looked.id };
    const domain = await this.repository.lock(owner, tx);
    if (!domain) throw new NotFoundError('Domain');
    const keys = await this.lookedAt(live.keys, owner, tx);
    const known = await this.repository.checksOf(owner, tx);
    const isNameTaken = await this.repository.isVerifiedElsewhere(domain, tx);
    const now = this.clock.now();
    const conclusion = applyChecks({ domain, known, keys, checked: live.checked, isNameTaken }, now);
    const { change, states, activated } = conclusion;
    if (activated !== undefined) await this.keys.activate(owner.organizationId, owner.domainId, activated, tx);
    const changed = { ...domain, ...change, lastCheckedAt: now, updatedAt: now };
    const remaining = keys.filter(({ selector }) => selector !== activated);
    const next = { ...changed, nextCheckAt: nextCheckAt({ domain: changed, keys: remaining, states }, now) };
    await this.repository.saveStates(owner, states, now, tx);
    await this.repository.saveDomain(next, tx);
    await this.audit.record(auditRecords(domain, conclusion, actor), tx);
    return { domain: next, states };
  }

  /** As they are now, without those made since the look: a selector may have got another key. */
  private async lookedAt(
    looked: readonly DkimKey[],
    { organizationId, domainId }: { organizationId: string; domainId: string },
    tx: Transaction,
  ): Promise<DkimKey[]> {
    const publicKeys = new Set(looked.map(({ publicKey }) => publicKey));
    const keys = await this.keys.published(organizationId, domainId, tx);
    return keys.filter(({ publicKey }) => publicKeys.has(publicKey));
  }
}

function auditRecords(domain: Domain, { transitions, activated }: Conclusion, actor: string): AuditRecord[] {
  return transitions.map((action) => ({
    organizationId: domain.organizationId,
    actor,
    action,
    targetType: 'domain',
    targetId: domain.id,
    data: { domain: domain.domain, ...(action === 'dkim.activated' && { selector: activated }) },
  }));
}
