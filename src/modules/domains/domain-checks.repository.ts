import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { In, type Repository } from 'typeorm';
import { DomainCheck } from './domain-check.entity';

@Injectable()
export class DomainChecksRepository {
  constructor(@InjectRepository(DomainCheck) private readonly checks: Repository<DomainCheck>) {}

  listOf(organizationId: string, domainIds: readonly string[]): Promise<DomainCheck[]> {
    return this.checks.findBy({ organizationId, domainId: In([...domainIds]) });
  }
}
