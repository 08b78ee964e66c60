import { Injectable } from '@nestjs/common';
import { type AuditRecord, AuditService, SYSTEM } from '../../../audit/audit.service';
import { FairLimit } from '../../../common/async/fair-turns';
import { Clock } from '../../../common/clock';
import { NotFoundError } from '../../../common/errors/app-error';
import { isUuid } from '../../../common/ids';
import { clientGone } from '../../../common/tenant';
import { violatedConstraint } from '../../../database/statements/database-errors';
import { Database } from '../../../database/pool/database.service';
import type { Transaction } from '../../../database/statements/transaction';
import type { DkimKey } from '../dkim/dkim-key.entity';
import { DkimKeysService } from '../dkim/dkim-keys.service';
import type { Domain } from '../registry/domain.entity';
import { domainEvent } from '../registry/domain-transitions.service';
import { DomainsRepository } from '../registry/domains.repository';
import { applyChecks, type Decision } from './apply-checks';
import { type DnsCheck, DnsCheckService } from './dns-check.service';
import {
  checkOf,
  nextCheckAt,
  type RecordState,
  reportOn,
  type VerificationReport,
  type VerifiedRecord,
} from './record-state';

/** Concurrent checks on request in one process: at most 800 queries within ten seconds. */
const MAXIMUM_AT_ONCE = 20;
/** Per organization: a check takes ten seconds when name servers do not respond. */
const OF_ONE = { atATime: 4, waiting: 60 };
const MAXIMUM_ATTEMPTS = 3;

export interface DomainVerification {
  /** The domain after the check. */
  readonly domain: Domain;
  readonly checks: readonly VerifiedRecord[];
}

interface RecordedCheck {
  readonly domain: Domain;
  /** In the order of the checked records. */
  readonly states: readonly RecordState[];
}

/**
 * Checks the records of a domain in DNS, evaluates the results and writes them, all or nothing. Every call queries DNS without a
 * cache: an owner who has just edited the zone must not get an old result. No transaction is open during the lookups.
 */
@Injectable()
export class DomainVerificationService {
  private readonly limit = new FairLimit(MAXIMUM_AT_ONCE, OF_ONE);

  constructor(
    private readonly domains: DomainsRepository,
    private readonly keys: DkimKeysService,
    private readonly dns: DnsCheckService,
    private readonly audit: AuditService,
    private readonly database: Database,
    private readonly clock: Clock,
  ) {}

  /** @param actor a key's id or `operator` @throws NotFoundError; UnavailableError when too much of this organization waits */
  verifyNow(organizationId: string, domainId: string, actor: string): Promise<DomainVerification> {
    return this.limit.run(organizationId, () => this.verify(organizationId, domainId, actor), clientGone());
  }

  /** The same, with a report for the owner. @throws NotFoundError */
  async verifyAndReport(organizationId: string, domainId: string, actor: string): Promise<VerificationReport> {
    const { domain, checks } = await this.verifyNow(organizationId, domainId, actor);
    // Read after the check, which may have activated another key.
    const keys = await this.keys.published(organizationId, domainId);
    return reportOn(domain, checks, keys.find(({ state }) => state === 'active')?.selector);
  }

  /** For the background job, which limits its concurrency itself. @throws NotFoundError */
  recheck(organizationId: string, domainId: string): Promise<DomainVerification> {
    return this.verify(organizationId, domainId, SYSTEM);
  }

  private async verify(organizationId: string, domainId: string, actor: string): Promise<DomainVerification> {
    const known = isUuid(domainId) ? await this.domains.find(organizationId, domainId) : null;
    if (!known) throw new NotFoundError('Domain');
    const check = await this.dns.check(known);
    const { domain, states } = await this.record(known, check, actor);
    const checks = check.checked.flatMap(({ record, found = [] }, index) => {
      const state = states[index];
      return state ? [{ record, check: checkOf(state), verified: state.verified, found }] : [];
    });
    return { domain, checks };
  }

  /** @throws NotFoundError when the domain has been removed meanwhile */
  private async record(domain: Domain, check: DnsCheck, actor: string): Promise<RecordedCheck> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        // Read before the transaction, which sees one tenant's rows only; the unique index decides.
        const isNameTaken = await this.domains.isVerifiedElsewhere(domain);
        return await this.database.transaction((tx) => this.write({ ...check, isNameTaken }, domain, actor, tx));
      } catch (error) {
        // Another organization has just verified the name: the next attempt sees that it is taken.
        if (attempt < MAXIMUM_ATTEMPTS && violatedConstraint(error) === 'domains_verified_name') continue;
        throw error;
      }
    }
  }

  private async write(
    check: DnsCheck & { readonly isNameTaken: boolean },
    checked: Domain,
    actor: string,
    tx: Transaction,
  ): Promise<RecordedCheck> {
    const { organizationId, id: domainId } = checked;
    const domain = await this.domains.lock(organizationId, domainId, tx);
    // One that was removed and added again meanwhile has the same id and another token.
    if (domain?.verificationToken !== checked.verificationToken) throw new NotFoundError('Domain');
    const keys = await this.checkedKeys(check.keys, checked, tx);
    const known = await this.domains.checksOf(organizationId, [domainId], tx);
    const now = this.clock.now();
    const decision = applyChecks({ domain, known, keys, checked: check.checked, isNameTaken: check.isNameTaken }, now);
    const { states, activated } = decision;
    if (activated !== undefined) await this.keys.activate(organizationId, domainId, activated, tx);
    const change = { ...decision.change, lastCheckedAt: now, updatedAt: now };
    const changed = { ...domain, ...change };
    const remaining = keys.filter(({ selector }) => selector !== activated);
    const due = nextCheckAt({ domain: changed, keys: remaining, states }, now);
    await this.domains.saveChecks({ organizationId, domainId }, states, now, tx);
    await this.domains.update(domain, { ...change, nextCheckAt: due }, tx);
    await this.audit.record(auditRecords(domain, decision, actor), tx);
    return { domain: { ...changed, nextCheckAt: due }, states };
  }

  /** The current state of the checked keys, without keys created since: a selector may have another key now. */
  private async checkedKeys(
    checked: readonly DkimKey[],
    { organizationId, id }: Domain,
    tx: Transaction,
  ): Promise<DkimKey[]> {
    const publicKeys = new Set(checked.map(({ publicKey }) => publicKey));
    const keys = await this.keys.published(organizationId, id, tx);
    return keys.filter(({ publicKey }) => publicKeys.has(publicKey));
  }
}

function auditRecords(domain: Domain, { transitions, activated }: Decision, actor: string): AuditRecord[] {
  return transitions.map((action) =>
    domainEvent(action, domain, actor, {
      domain: domain.domain,
      ...(action === 'dkim.activated' && { selector: activated }),
    }),
  );
}
