import { Injectable } from '@nestjs/common';
import { Database } from '../../database/database.service';
import { countEmails, type CountedHour, type CountRange, locateEmails } from './sql/count-emails.sql';

@Injectable()
export class EmailCountsRepository {
  constructor(private readonly database: Database) {}

  async count(range: CountRange): Promise<number> {
    const [row] = await this.database.run(countEmails(range));
    return row?.emails ?? 0;
  }

  locate(range: CountRange, page: { offset: number; limit: number }): Promise<CountedHour[]> {
    return this.database.run(locateEmails(range, page));
  }
}
