import { Injectable } from '@nestjs/common';
import { Database } from '../../../database/database.service';
import { type ContentPage, deleteContents, type DeletedContents } from './sql/delete-contents.sql';

@Injectable()
export class ContentsRepository {
  constructor(private readonly database: Database) {}

  /** Looks at the next `limit` emails of the page, and deletes the contents of those at their end. */
  async delete(page: ContentPage, limit: number): Promise<DeletedContents> {
    const [row] = await this.database.run(deleteContents(page, limit));
    return row ?? { lookedAt: 0, lastId: null, deleted: 0 };
  }
}
