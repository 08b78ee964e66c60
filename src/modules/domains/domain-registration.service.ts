import { randomBytes } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { AuditService } from '../../audit/audit.service';
import { ApiKeysService } from '../../auth/keys/api-keys.service';
import { Clock } from '../../common/clock';
import { AppError, NotFoundError } from '../../common/errors/app-error';
import { newId } from '../../common/ids';
import { violatedConstraint } from '../../database/statements/database-errors';
import { Database } from '../../database/pool/database.service';
import type { DkimKey } from './dkim/dkim-key.entity';
import { DkimKeysService } from './dkim/dkim-keys.service';
import { type Domain, SENDING_FREELY, standingOf } from './registry/domain.entity';
import type { DomainName } from './registry/domain-name';
import { domainEvent } from './registry/domain-transitions.service';
import { DomainsRepository } from './registry/domains.repository';

const TOKEN_BYTES = 16;
/** Of an organization: each is looked up in the DNS again and again. */
const MAX_DOMAINS = 10_000;
/** Constraints violated by a taken name; the second one by a removed name that is added twice at the same time, with its old id. */
const NAME_TAKEN = ['domains_name', 'domains_pkey'];

/** Adds and removes domains, with their keys. An organization with domains has exactly one default. */
@Injectable()
export class DomainRegistrationService {
  constructor(
    private readonly domains: DomainsRepository,
    private readonly keys: DkimKeysService,
    private readonly apiKeys: ApiKeysService,
    private readonly audit: AuditService,
    private readonly database: Database,
    private readonly clock: Clock,
  ) {}

  /**
   * Registers a domain with a new DKIM key; an organization's first domain becomes its default. One that was removed and had
   * sent mail gets its id, warm-up and sending status back.
   * @throws AppError domain_already_exists, domain_limit_reached
   */
  async add(organizationId: string, name: DomainName, actor: string): Promise<Domain> {
    if (await this.domains.isTaken(organizationId, name.domain)) throw alreadyExists(name.domain);
    // Before a key is made, which computes for long; the count under the lock decides.
    if ((await this.domains.count(organizationId)) >= MAX_DOMAINS) throw tooMany();
    const earlier = await this.domains.findRemoved(organizationId, name.domain);
    const key = await this.keys.makeFirst({ organizationId, domainId: earlier?.id ?? newId() });
    const domain = { ...newDomain(key, name), ...(earlier && standingOf(earlier)) };
    try {
      return await this.database.transaction(async (tx) => {
        await this.domains.lockList(organizationId, tx);
        const count = await this.domains.count(organizationId, tx);
        if (count >= MAX_DOMAINS) throw tooMany();
        const isDefault = count === 0;
        await this.domains.insert({ ...domain, isDefault }, tx);
        await this.keys.insert(key, tx);
        await this.audit.record([domainEvent('domain.added', domain, actor, { domain: domain.domain })], tx);
        return { ...domain, isDefault };
      });
    } catch (error) {
      if (NAME_TAKEN.includes(violatedConstraint(error) ?? '')) throw alreadyExists(name.domain);
      throw error;
    }
  }

  /**
   * Removes a domain with its keys and checks. Its queued mail fails with `domain_removed` when a worker claims it, since it can
   * no longer be signed; API keys that are bound to it are revoked.
   * @throws NotFoundError, AppError default_domain_in_use
   */
  async remove(organizationId: string, domainId: string, actor: string): Promise<void> {
    await this.database.transaction(async (tx) => {
      await this.domains.lockList(organizationId, tx);
      const domain = await this.domains.lock(organizationId, domainId, tx);
      if (!domain) throw new NotFoundError('Domain');
      if (domain.isDefault && (await this.domains.count(organizationId, tx)) > 1) throw inUse(domain.domain);
      await this.keys.deleteOf({ organizationId, domainId }, tx);
      await this.domains.delete(domain, this.clock.now(), tx);
      await this.apiKeys.revokeBoundTo(organizationId, domainId, actor, tx);
      await this.audit.record([domainEvent('domain.deleted', domain, actor, { domain: domain.domain })], tx);
    });
    this.apiKeys.forget(organizationId);
  }
}

/** A new domain with its first key and without results; its first check is due at once. */
function newDomain(key: DkimKey, { domain, subdomain }: DomainName): Domain {
  const { organizationId, domainId: id, createdAt: now } = key;
  return {
    organizationId,
    id,
    domain,
    subdomain,
    verificationStatus: 'pending',
    verificationToken: randomBytes(TOKEN_BYTES).toString('hex'),
    verifiedAt: null,
    dkimSelector: key.selector,
    dkimStatus: 'pending',
    warmingStatus: 'not_started',
    warmingStartedAt: null,
    warmingPausedAt: null,
    warmingPauseReason: null,
    warmingEvaluatedSince: null,
    sending: { ...SENDING_FREELY },
    nextCheckAt: now,
    lastCheckedAt: null,
    verificationFailingSince: null,
    dkimFailingSince: null,
    returnPathVerified: false,
    trackingVerified: false,
    requiresTls: false,
    reputationScore: null,
    isDefault: false,
    createdAt: now,
    updatedAt: now,
  };
}

/** The error for a domain that is already registered. */
export function alreadyExists(domain: string): AppError {
  return new AppError('domain_already_exists', `The domain ${domain} is already registered`);
}

function tooMany(): AppError {
  return new AppError('domain_limit_reached', `An organization has at most ${MAX_DOMAINS} domains`, {
    suggestion: 'Delete domains that are no longer used, or use another organization',
  });
}

function inUse(domain: string): AppError {
  return new AppError('default_domain_in_use', `${domain} is the default domain and other domains exist`, {
    suggestion: 'Make another domain the default first',
  });
}
