import { randomBytes } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { DomainOwnership } from '../../auth/domain-ownership';
import { Clock } from '../../common/clock';
import { AppError, NotFoundError } from '../../common/errors/app-error';
import { isUuid, newId } from '../../common/ids';
import { violatedConstraint } from '../../database/database-errors';
import { Database } from '../../database/database.service';
import { generateDkimKeyPair } from './dkim-key-pair';
import { DkimVault } from './dkim-vault';
import type { Domain } from './domain.entity';
import { normalizeDomainName } from './domain-name';
import { DomainsRepository } from './domains.repository';

const FIRST_SELECTOR = 'wb1';

/** The sender domains of an organization. */
@Injectable()
export class DomainsService extends DomainOwnership {
  constructor(
    private readonly domains: DomainsRepository,
    private readonly vault: DkimVault,
    private readonly database: Database,
    private readonly clock: Clock,
  ) {
    super();
  }

  /**
   * Registers a domain with a fresh DKIM key; an organization's first becomes its default.
   * @throws ValidationError, AppError domain_already_exists
   */
  async add(organizationId: string, name: string): Promise<Domain> {
    const { domain, subdomain } = normalizeDomainName(name);
    if (await this.domains.isVerifiedElsewhere(organizationId, domain)) throw alreadyExists(domain);
    const now = this.clock.now();
    const record: Domain = {
      organizationId,
      id: newId(),
      domain,
      subdomain,
      verificationStatus: 'pending',
      verificationToken: randomBytes(16).toString('hex'),
      verifiedAt: null,
      dkimSelector: FIRST_SELECTOR,
      dkimStatus: 'pending',
      warmingStatus: 'not_started',
      nextCheckAt: now,
      lastCheckedAt: null,
      verificationFailingSince: null,
      dkimFailingSince: null,
      returnPathVerified: false,
      trackingVerified: false,
      reputationScore: null,
      isDefault: !(await this.domains.hasAny(organizationId)),
      createdAt: now,
      updatedAt: now,
    };
    await this.insert(record);
    return record;
  }

  /** The operator vouches for a domain. @throws NotFoundError, AppError domain_already_exists */
  async markVerified(organizationId: string, nameOrId: string): Promise<Domain> {
    const domain = isUuid(nameOrId)
      ? await this.domains.find(organizationId, nameOrId)
      : await this.domains.findForSending(organizationId, normalizeDomainName(nameOrId).domain);
    if (!domain) throw new NotFoundError('Domain');
    const now = this.clock.now();
    try {
      await this.domains.markVerified(organizationId, domain.id, now);
    } catch (error) {
      if (violatedConstraint(error) === 'domains_verified_name') throw alreadyExists(domain.domain);
      throw error;
    }
    return { ...domain, verificationStatus: 'verified', verifiedAt: now, dkimStatus: 'verified', updatedAt: now };
  }

  /** Oldest first. */
  list(organizationId: string): Promise<Domain[]> {
    return this.domains.list(organizationId);
  }

  /** @param name undefined for the organization's default domain */
  findForSending(organizationId: string, name: string | undefined): Promise<Domain | null> {
    return this.domains.findForSending(organizationId, name);
  }

  find(organizationId: string, id: string): Promise<Domain | null> {
    return this.domains.find(organizationId, id);
  }

  async owns(organizationId: string, domainId: string): Promise<boolean> {
    return isUuid(domainId) && (await this.domains.find(organizationId, domainId)) !== null;
  }

  private async insert(domain: Domain): Promise<void> {
    const { organizationId, id: domainId, createdAt } = domain;
    const owner = { organizationId, domainId, selector: FIRST_SELECTOR };
    const { privateKey, publicKey } = await generateDkimKeyPair();
    const privateKeySealed = this.vault.seal(privateKey, owner);
    const key = { ...owner, privateKeySealed, publicKey, state: 'active' as const, createdAt, expiresAt: null };
    try {
      await this.database.transaction((tx) => this.domains.insert(domain, key, tx));
    } catch (error) {
      const constraint = violatedConstraint(error);
      if (constraint === 'domains_name') throw alreadyExists(domain.domain);
      // Two first domains at once: the other one has become the default.
      if (constraint === 'domains_one_default' && domain.isDefault) return this.insert({ ...domain, isDefault: false });
      throw error;
    }
  }
}

function alreadyExists(domain: string): AppError {
  return new AppError('domain_already_exists', `The domain ${domain} is already registered`);
}
