import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import type { Repository } from 'typeorm';
import { Database } from '../../../database/database.service';
import { Domain } from '../domain.entity';
import { type DomainScore, writeScores } from './sql/write-scores.sql';

@Injectable()
export class DomainScoresRepository {
  constructor(
    private readonly database: Database,
    @InjectRepository(Domain) private readonly domains: Repository<Domain>,
  ) {}

  /** Of every organization, in key order. */
  async findAfter(
    after: { organizationId: string; domainId: string } | undefined,
    limit: number,
  ): Promise<{ organizationId: string; domainId: string }[]> {
    const query = this.domains
      .createQueryBuilder('d')
      .select(['d.organizationId', 'd.id'])
      .orderBy('d.organizationId')
      .addOrderBy('d.id')
      .limit(limit);
    if (after) query.where('(d.organization_id, d.id) > (:organizationId, :domainId)', after);
    return (await query.getMany()).map(({ organizationId, id }) => ({ organizationId, domainId: id }));
  }

  /** Answers how many have changed. */
  async write(scores: readonly DomainScore[]): Promise<number> {
    return (await this.database.run(writeScores(scores))).length;
  }
}
