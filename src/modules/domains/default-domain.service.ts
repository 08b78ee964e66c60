import { Injectable } from '@nestjs/common';
import { Clock } from '../../common/clock';
import { NotFoundError } from '../../common/errors/app-error';
import { Database } from '../../database/database.service';
import { AuditService } from '../../audit/audit.service';
import { domainEvent } from './domain-event';
import { DomainsRepository } from './domains.repository';

/** Which domain mail leaves from when its sender names none. An organization with domains has exactly one. */
@Injectable()
export class DefaultDomainService {
  constructor(
    private readonly domains: DomainsRepository,
    private readonly audit: AuditService,
    private readonly database: Database,
    private readonly clock: Clock,
  ) {}

  /** @throws NotFoundError */
  async choose(organizationId: string, domainId: string, actor: string): Promise<void> {
    await this.database.transaction(async (tx) => {
      await this.domains.lockList(organizationId, tx);
      const domain = await this.domains.lock(organizationId, domainId, tx);
      if (!domain) throw new NotFoundError('Domain');
      if (domain.isDefault) return;
      await this.domains.makeDefault(organizationId, domainId, this.clock.now(), tx);
      await this.audit.record([domainEvent('domain.default_set', domain, actor)], tx);
    });
  }
}
