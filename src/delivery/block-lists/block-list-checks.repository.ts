import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import type { Repository } from 'typeorm';
import { Database } from '../../database/database.service';
import { BlockListCheck } from './block-list-check.entity';
import type { Listing } from './block-lists';
import { newestAge, replaceChecks } from './sql/block-list-checks.sql';

/** Owner of `block_list_checks`. */
@Injectable()
export class BlockListChecksRepository {
  constructor(
    private readonly database: Database,
    @InjectRepository(BlockListCheck) private readonly checks: Repository<BlockListCheck>,
  ) {}

  async replace(listings: readonly Listing[]): Promise<void> {
    await this.database.run(replaceChecks(listings));
  }

  list(): Promise<BlockListCheck[]> {
    return this.checks.find({ order: { address: 'ASC', list: 'ASC' } });
  }

  /** Of the newest look-up; undefined before the first. */
  async newestAgeMs(): Promise<number | undefined> {
    const [row] = await this.database.run(newestAge());
    return row?.ageMs ?? undefined;
  }
}
