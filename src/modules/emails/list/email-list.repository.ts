import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { In, type Repository } from 'typeorm';
import { Database } from '../../../database/database.service';
import { Email } from '../email.entity';
import {
  countIds,
  listIds,
  type ListScope,
  type Page,
  SEARCH_WINDOW,
  searchEmails,
  type SearchTerms,
} from '../sql/list-emails.sql';
import type { IdRange } from './id-range';

/** What a search found among the emails that it looked at. */
export interface FoundEmails {
  readonly ids: readonly string[];
  readonly total: number;
  /** Set when there are more emails than were looked at: the id where the search stopped. */
  readonly stoppedAt: string | undefined;
}

@Injectable()
export class EmailListRepository {
  constructor(
    private readonly database: Database,
    @InjectRepository(Email) private readonly emails: Repository<Email>,
  ) {}

  async listIds(scope: ListScope, ranges: readonly IdRange[], page: Page): Promise<string[]> {
    if (ranges.length === 0) return [];
    return (await this.database.run(listIds(scope, ranges, page))).map(({ id }) => id);
  }

  async count(scope: ListScope, range: IdRange): Promise<number> {
    const [row] = await this.database.run(countIds(scope, range));
    return row?.emails ?? 0;
  }

  async search(scope: ListScope, range: IdRange, terms: SearchTerms, page: Page): Promise<FoundEmails> {
    const [found] = await this.database.run(searchEmails(scope, range, terms, page));
    if (!found) return { ids: [], total: 0, stoppedAt: undefined };
    const { ids, total, lookedAt, oldest } = found;
    return { ids, total, stoppedAt: lookedAt === SEARCH_WINDOW && oldest !== null ? oldest : undefined };
  }

  /** In the order of the ids; those that are gone are left out. */
  async findAll({ organizationId, mode }: ListScope, ids: readonly string[]): Promise<Email[]> {
    if (ids.length === 0) return [];
    const emails = await this.emails.findBy({ organizationId, mode, id: In(ids) });
    return emails.sort((one, other) => (one.id < other.id ? 1 : -1));
  }
}

export type { ListScope, Page } from '../sql/list-emails.sql';
