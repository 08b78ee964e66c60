import { Injectable } from '@nestjs/common';
import { DomainDirectory } from '../../../auth/domain-directory';
import { isUuid } from '../../../common/ids';
import { DomainsRepository } from './domains.repository';

/** For auth and stats. Apart from `DomainsService`, which needs auth's keys itself: the two would wait for each other. */
@Injectable()
export class DomainDirectoryService extends DomainDirectory {
  constructor(private readonly domains: DomainsRepository) {
    super();
  }

  async owns(organizationId: string, domainId: string): Promise<boolean> {
    return isUuid(domainId) && (await this.domains.find(organizationId, domainId)) !== null;
  }

  async namesOf(organizationId: string, ids: readonly string[]): Promise<ReadonlyMap<string, string>> {
    if (ids.length === 0) return new Map();
    const named = await this.domains.findNames(organizationId, ids);
    return new Map(named.map(({ id, domain }) => [id, domain]));
  }
}
