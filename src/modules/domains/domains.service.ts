import { Injectable } from '@nestjs/common';
import { AuditService, OPERATOR } from '../../audit/audit.service';
import { DomainDirectory } from '../../auth/keys/domain-directory';
import { Revisions } from '../../common/bounded-cache';
import { Clock } from '../../common/clock';
import { AppError, NotFoundError } from '../../common/errors/app-error';
import { isUuid } from '../../common/ids';
import { AppConfig } from '../../config/config';
import { violatedConstraint } from '../../database/statements/database-errors';
import { Database } from '../../database/pool/database.service';
import type { Transaction } from '../../database/statements/transaction';
import { alreadyExists, DomainRegistrationService } from './domain-registration.service';
import { normalizeDomainName, normalizeSenderDomain } from './registry/domain-name';
import { domainEvent } from './registry/domain-transitions.service';
import type { Domain } from './registry/domain.entity';
import { type DomainFilter, DomainsRepository, type WantedDomain } from './registry/domains.repository';

export type { WantedDomain };

/** The sender domains of organizations, for other features and the command line. */
@Injectable()
export class DomainsService {
  /** Changes of the domains that mail may be sent from, for those who cache them. */
  readonly revisions = new Revisions();

  constructor(
    private readonly domains: DomainsRepository,
    private readonly registration: DomainRegistrationService,
    private readonly audit: AuditService,
    private readonly database: Database,
    private readonly clock: Clock,
    private readonly config: AppConfig,
  ) {}

  /**
   * Registers a domain with a new DKIM key; an organization's first domain becomes its default.
   * @param actor for the audit log
   * @throws ValidationError, AppError domain_already_exists, domain_limit_reached
   */
  async add(organizationId: string, name: string, actor: string = OPERATOR): Promise<Domain> {
    return this.registration.add(organizationId, normalizeSenderDomain(name, this.config), actor);
  }

  /** Removes a domain as `DomainRegistrationService` describes. @throws NotFoundError, AppError default_domain_in_use */
  async remove(organizationId: string, domainId: string, actor: string): Promise<void> {
    await this.registration.remove(organizationId, domainId, actor);
    this.revisions.add(organizationId);
  }

  /**
   * Chooses the domain from which mail leaves when its sender names none.
   * @throws NotFoundError, AppError domain_not_verified
   */
  async setDefault(organizationId: string, domainId: string, actor: string): Promise<void> {
    await this.database.transaction(async (tx) => {
      await this.domains.lockList(organizationId, tx);
      const domain = await this.domains.lock(organizationId, domainId, tx);
      if (!domain) throw new NotFoundError('Domain');
      if (domain.isDefault) return;
      if (domain.verificationStatus !== 'verified') throw notVerified(domain.domain);
      await this.domains.makeDefault(organizationId, domainId, this.clock.now(), tx);
      await this.audit.record([domainEvent('domain.default_set', domain, actor)], tx);
    });
    this.revisions.add(organizationId);
  }

  /**
   * Sets whether mail from the domain is sent over encrypted connections only.
   * @throws NotFoundError
   */
  async requireTls(organizationId: string, domainId: string, requiresTls: boolean, actor: string): Promise<void> {
    await this.database.transaction(async (tx) => {
      const domain = await this.domains.lock(organizationId, domainId, tx);
      if (!domain) throw new NotFoundError('Domain');
      if (domain.requiresTls === requiresTls) return;
      await this.domains.update(domain, { requiresTls, updatedAt: this.clock.now() }, tx);
      await this.audit.record([domainEvent('domain.changed', domain, actor, { require_tls: requiresTls })], tx);
    });
  }

  /** Marks a domain as verified by the operator's decision, without DNS. @throws NotFoundError, AppError domain_already_exists */
  async markVerified(organizationId: string, nameOrId: string): Promise<Domain> {
    const domain = isUuid(nameOrId)
      ? await this.domains.find(organizationId, nameOrId)
      : await this.findForSending(organizationId, normalizeDomainName(nameOrId).domain);
    if (!domain) throw new NotFoundError('Domain');
    const at = this.clock.now();
    const change = { verificationStatus: 'verified', verifiedAt: at, dkimStatus: 'verified', updatedAt: at } as const;
    try {
      await this.database.transaction(async (tx) => {
        // It may have been removed meanwhile.
        if (!(await this.domains.lock(organizationId, domain.id, tx))) throw new NotFoundError('Domain');
        await this.domains.update(domain, change, tx);
        await this.audit.record([domainEvent('domain.verified', domain, OPERATOR, { vouched: true })], tx);
      });
    } catch (error) {
      if (violatedConstraint(error) === 'domains_verified_name') throw alreadyExists(domain.domain);
      throw error;
    }
    return { ...domain, ...change };
  }

  /** Oldest first. */
  list(organizationId: string): Promise<Domain[]> {
    return this.domains.list(organizationId);
  }

  /** Oldest first, with the total number. */
  page(organizationId: string, filter: DomainFilter): Promise<[Domain[], number]> {
    return this.domains.page(organizationId, filter);
  }

  /** Slowed and paused domains of all organizations. */
  countRestricted(): Promise<number> {
    return this.domains.countRestricted();
  }

  /** The domain that mail is sent from. @param name undefined for the organization's default domain */
  async findForSending(organizationId: string, name: string | undefined): Promise<Domain | null> {
    const [found = null] = await this.findAllForSending([{ organizationId, name }]);
    return found;
  }

  /** The same for many at once: the result for each. */
  async findAllForSending(wanted: readonly WantedDomain[]): Promise<(Domain | undefined)[]> {
    const found = await this.domains.findAllForSending(wanted);
    const byName = new Map(found.map((domain) => [`${domain.organizationId} ${domain.domain}`, domain]));
    const defaults = new Map(found.filter(({ isDefault }) => isDefault).map((one) => [one.organizationId, one]));
    return wanted.map(({ organizationId, name }) =>
      name === undefined ? defaults.get(organizationId) : byName.get(`${organizationId} ${name}`),
    );
  }

  /** The domain of this name that an organization has verified. */
  findVerified(name: string): Promise<Domain | null> {
    return this.domains.findVerified(name);
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
}

function notVerified(name: string): AppError {
  return new AppError('domain_not_verified', `${name} is not verified; mail cannot be sent from it`, {
    suggestion: 'Publish its records, verify it, and then make it the default',
  });
}

/** For auth and stats. Separate from `DomainsService`, which itself depends on auth's keys: that would be a cycle. */
@Injectable()
export class DomainDirectoryService extends DomainDirectory {
  constructor(private readonly domains: DomainsRepository) {
    super();
  }

  async holds(organizationId: string, domainId: string, tx: Transaction): Promise<boolean> {
    return isUuid(domainId) && (await this.domains.keep(organizationId, domainId, tx)) !== null;
  }

  async namesOf(organizationId: string, ids: readonly string[]): Promise<ReadonlyMap<string, string>> {
    if (ids.length === 0) return new Map();
    const named = await this.domains.findNames(organizationId, ids);
    return new Map(named.map(({ id, domain }) => [id, domain]));
  }
}
