import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import type { Repository } from 'typeorm';
import { Domain } from '../modules/domains/domain.entity';

/** Reads an organization's domains for the operator, all at once. */
@Injectable()
export class DomainListRepository {
  constructor(@InjectRepository(Domain) private readonly domains: Repository<Domain>) {}

  /** Oldest first. */
  list(organizationId: string): Promise<Domain[]> {
    return this.domains.find({ where: { organizationId }, order: { id: 'ASC' } });
  }
}
