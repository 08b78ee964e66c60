import { Injectable } from '@nestjs/common';
import { DomainNames } from '../stats/domain-names.service';
import { DomainsRepository } from './domains.repository';

/** Tells the statistics what the domains are called, those included that are gone. */
@Injectable()
export class DomainNamesService extends DomainNames {
  constructor(private readonly domains: DomainsRepository) {
    super();
  }

  async namesOf(organizationId: string, ids: readonly string[]): Promise<ReadonlyMap<string, string>> {
    if (ids.length === 0) return new Map();
    const named = await this.domains.findNames(organizationId, ids);
    return new Map(named.map(({ id, domain }) => [id, domain]));
  }
}
