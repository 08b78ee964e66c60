import { Injectable } from '@nestjs/common';
import { Database } from '../../../database/database.service';
import { findPublishedKeys, type PublishedKeyRow } from './sql/find-published-keys.sql';

@Injectable()
export class PublishedKeysRepository {
  constructor(private readonly database: Database) {}

  /** One list for each domain, in their order; an unknown domain has none. @throws UnavailableError */
  async find(domainIds: readonly string[]): Promise<PublishedKeyRow[][]> {
    const rows = await this.database.run(findPublishedKeys(domainIds));
    return domainIds.map((domainId) => rows.filter((row) => row.domainId === domainId));
  }
}
