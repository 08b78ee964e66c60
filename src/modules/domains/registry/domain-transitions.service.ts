import { Injectable } from '@nestjs/common';
import { type AuditRecord, AuditService } from '../../../audit/audit.service';
import { Clock } from '../../../common/clock';
import { NotFoundError, UnavailableError } from '../../../common/errors/app-error';
import { Database } from '../../../database/pool/database.service';
import type { Domain } from './domain.entity';
import { type DomainChange, DomainsRepository, type ExpectedState } from './domains.repository';

/** The audit record of a change to a domain. */
export function domainEvent(
  action: string,
  { organizationId, id }: Pick<Domain, 'organizationId' | 'id'>,
  actor: string,
  data: object = {},
): AuditRecord {
  return { organizationId, actor, action, targetType: 'domain', targetId: id, data };
}

const MAX_TRIES = 10;

/** Changes the state of domains: one of several concurrent processes succeeds and writes the audit entry. */
@Injectable()
export class DomainTransitionsService {
  constructor(
    private readonly domains: DomainsRepository,
    private readonly database: Database,
    private readonly audit: AuditService,
    private readonly clock: Clock,
  ) {}

  /** A domain of any organization, for the operator. @throws NotFoundError */
  async find(id: string): Promise<Domain> {
    const domain = await this.domains.findById(id);
    if (!domain) throw new NotFoundError('Domain');
    return domain;
  }

  /**
   * Carries out a decision of the operator, again where a job has changed the domain meanwhile.
   * @param decide returns false when another process was faster
   * @throws NotFoundError
   */
  async decide(id: string, decide: (domain: Domain) => Promise<boolean>): Promise<Domain> {
    for (let tries = 1; !(await decide(await this.find(id))); tries += 1) {
      if (tries === MAX_TRIES) throw new UnavailableError('The domain is being changed by others');
    }
    return this.find(id);
  }

  /** Returns false when another process was faster. @param entry undefined: nothing is written to the audit log */
  move(
    domain: Domain,
    expected: ExpectedState,
    change: DomainChange,
    entry?: { readonly actor: string; readonly action: string; readonly data?: object },
  ): Promise<boolean> {
    return this.database.transaction(async (tx) => {
      const isOurs = await this.domains.updateIf(domain, expected, { ...change, updatedAt: this.clock.now() }, tx);
      if (isOurs && entry) await this.audit.record([domainEvent(entry.action, domain, entry.actor, entry.data)], tx);
      return isOurs;
    });
  }
}
