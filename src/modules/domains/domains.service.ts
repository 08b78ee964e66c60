import { Injectable } from '@nestjs/common';
import { DomainOwnership } from '../../auth/api-keys.service';
import { Clock } from '../../common/clock';
import { NotFoundError } from '../../common/errors/app-error';
import { isUuid } from '../../common/ids';
import { violatedConstraint } from '../../database/database-errors';
import { Database } from '../../database/database.service';
import { AuditService, OPERATOR } from '../../audit/audit.service';
import type { Domain } from './domain.entity';
import { domainEvent } from './domain-event';
import { normalizeDomainName } from './domain-name';
import { alreadyExists, DomainRegistrationService } from './domain-registration.service';
import { type DomainFilter, DomainsRepository } from './domains.repository';

/** The sender domains of an organization, as other features and the command line see them. */
@Injectable()
export class DomainsService extends DomainOwnership {
  constructor(
    private readonly domains: DomainsRepository,
    private readonly registration: DomainRegistrationService,
    private readonly audit: AuditService,
    private readonly database: Database,
    private readonly clock: Clock,
  ) {
    super();
  }

  /**
   * Registers a domain with a fresh DKIM key; an organization's first becomes its default.
   * @param actor who is written down for it
   * @throws ValidationError, AppError domain_already_exists
   */
  add(organizationId: string, name: string, actor: string = OPERATOR): Promise<Domain> {
    return this.registration.add(organizationId, name, actor);
  }

  /** The operator vouches for a domain. @throws NotFoundError, AppError domain_already_exists */
  async markVerified(organizationId: string, nameOrId: string): Promise<Domain> {
    const domain = isUuid(nameOrId)
      ? await this.domains.find(organizationId, nameOrId)
      : await this.domains.findForSending(organizationId, normalizeDomainName(nameOrId).domain);
    if (!domain) throw new NotFoundError('Domain');
    const at = this.clock.now();
    try {
      await this.database.transaction(async (tx) => {
        await this.domains.markVerified(organizationId, domain.id, at, tx);
        await this.audit.record([domainEvent('domain.verified', domain, OPERATOR, { vouched: true })], tx);
      });
    } catch (error) {
      if (violatedConstraint(error) === 'domains_verified_name') throw alreadyExists(domain.domain);
      throw error;
    }
    return { ...domain, verificationStatus: 'verified', verifiedAt: at, dkimStatus: 'verified', updatedAt: at };
  }

  /** Oldest first. */
  list(organizationId: string): Promise<Domain[]> {
    return this.domains.list(organizationId);
  }

  /** Oldest first, with how many there are. */
  page(organizationId: string, filter: DomainFilter): Promise<[Domain[], number]> {
    return this.domains.page(organizationId, filter);
  }

  /** @param name undefined for the organization's default domain */
  findForSending(organizationId: string, name: string | undefined): Promise<Domain | null> {
    return this.domains.findForSending(organizationId, name);
  }

  find(organizationId: string, id: string): Promise<Domain | null> {
    return this.domains.find(organizationId, id);
  }

  /** @throws NotFoundError */
  async get(organizationId: string, id: string): Promise<Domain> {
    const domain = await this.domains.find(organizationId, id);
    if (!domain) throw new NotFoundError('Domain');
    return domain;
  }

  async owns(organizationId: string, domainId: string): Promise<boolean> {
    return isUuid(domainId) && (await this.domains.find(organizationId, domainId)) !== null;
  }
}
