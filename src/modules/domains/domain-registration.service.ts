import { Injectable } from '@nestjs/common';
import { AppError } from '../../common/errors/app-error';
import { newId } from '../../common/ids';
import { violatedConstraint } from '../../database/database-errors';
import { Database } from '../../database/database.service';
import { AuditService } from '../../audit/audit.service';
import { DkimKeyMaker } from './dkim/dkim-key-maker';
import type { Domain } from './domain.entity';
import { domainEvent } from './domain-event';
import { DomainsRepository } from './domains.repository';
import { newDomain } from './new-domain';
import { standingOf } from './removed-domain.entity';
import { SenderNames } from './sender-names';

/** Who adds a removed name again at the same time gets the same id as well. */
const NAME_TAKEN = ['domains_name', 'domains_pkey'];

/** Takes new domains in. */
@Injectable()
export class DomainRegistrationService {
  constructor(
    private readonly domains: DomainsRepository,
    private readonly names: SenderNames,
    private readonly maker: DkimKeyMaker,
    private readonly audit: AuditService,
    private readonly database: Database,
  ) {}

  /**
   * Registers a domain with a fresh DKIM key; an organization's first becomes its default. One that was removed and had
   * sent mail gets its id and its place in the warm-up and its sending status back.
   * @throws ValidationError, AppError domain_already_exists
   */
  async add(organizationId: string, text: string, actor: string): Promise<Domain> {
    const name = this.names.normalize(text);
    if (await this.domains.isTaken(organizationId, name.domain)) throw alreadyExists(name.domain);
    const earlier = await this.domains.findRemoved(organizationId, name.domain);
    const owner = { organizationId, domainId: earlier?.id ?? newId() };
    const key = this.maker.first(await this.maker.generate(), owner);
    const domain = { ...newDomain(key, name), ...(earlier && standingOf(earlier)) };
    try {
      return await this.database.transaction(async (tx) => {
        await this.domains.lockList(organizationId, tx);
        const isDefault = (await this.domains.count(organizationId, tx)) === 0;
        await this.domains.insert({ ...domain, isDefault }, key, tx);
        await this.audit.record([domainEvent('domain.added', domain, actor, { domain: domain.domain })], tx);
        return { ...domain, isDefault };
      });
    } catch (error) {
      if (NAME_TAKEN.includes(violatedConstraint(error) ?? '')) throw alreadyExists(name.domain);
      throw error;
    }
  }
}

export function alreadyExists(domain: string): AppError {
  return new AppError('domain_already_exists', `The domain ${domain} is already registered`);
}
