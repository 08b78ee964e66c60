import { Injectable } from '@nestjs/common';
import { Clock } from '../../common/clock';
import { ApiKeysService } from '../../auth/api-keys.service';
import { AppError, NotFoundError } from '../../common/errors/app-error';
import { Database } from '../../database/database.service';
import { AuditService } from '../../audit/audit.service';
import { domainEvent } from './domain-event';
import { DomainsRepository } from './domains.repository';

/**
 * Removes domains with their keys and checks. Mail of theirs that is still queued fails with `domain_removed` when a
 * worker comes to it, as nothing can sign it any more; API keys that are bound to them are revoked.
 */
@Injectable()
export class DomainRemovalService {
  constructor(
    private readonly domains: DomainsRepository,
    private readonly apiKeys: ApiKeysService,
    private readonly audit: AuditService,
    private readonly database: Database,
    private readonly clock: Clock,
  ) {}

  /** @throws NotFoundError, AppError default_domain_in_use */
  async remove(organizationId: string, domainId: string, actor: string): Promise<void> {
    await this.database.transaction(async (tx) => {
      await this.domains.lockList(organizationId, tx);
      const domain = await this.domains.lock(organizationId, domainId, tx);
      if (!domain) throw new NotFoundError('Domain');
      if (domain.isDefault && (await this.domains.count(organizationId, tx)) > 1) throw inUse(domain.domain);
      await this.domains.delete(domain, this.clock.now(), tx);
      await this.apiKeys.revokeBoundTo(organizationId, domainId, actor, tx);
      await this.audit.record([domainEvent('domain.deleted', domain, actor, { domain: domain.domain })], tx);
    });
  }
}

function inUse(domain: string): AppError {
  return new AppError('default_domain_in_use', `${domain} is the default domain and other domains exist`, {
    suggestion: 'Make another domain the default first',
  });
}
