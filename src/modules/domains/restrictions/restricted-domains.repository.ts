import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { In, type Repository } from 'typeorm';
import { Database } from '../../../database/database.service';
import { Domain } from '../domain.entity';
import { domainsAfter } from '../domain-pages.repository';
import { countRestricted, type RestrictedCounts } from './sql/count-restricted.sql';

interface Owner {
  readonly organizationId: string;
  readonly domainId: string;
}

@Injectable()
export class RestrictedDomainsRepository {
  constructor(
    private readonly database: Database,
    @InjectRepository(Domain) private readonly domains: Repository<Domain>,
  ) {}

  /** Slowed and paused domains of every organization after the given one, in key order. */
  findRestricted(after: Domain | undefined, limit: number): Promise<Domain[]> {
    return domainsAfter(this.domains, "d.sending_status <> 'active'", after, limit);
  }

  /** Those of the domains that nothing holds back. */
  findActive(owners: readonly Owner[]): Promise<Domain[]> {
    return this.domains.findBy({
      organizationId: In([...new Set(owners.map((owner) => owner.organizationId))]),
      id: In(owners.map((owner) => owner.domainId)),
      sending: { status: 'active' },
    });
  }

  async count(): Promise<RestrictedCounts> {
    const [counts] = await this.database.run(countRestricted());
    return counts ?? { slowed: 0, paused: 0 };
  }
}
