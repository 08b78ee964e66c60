import { Injectable } from '@nestjs/common';
import { EmailCountsRepository } from './email-counts.repository';
import type { CountedHour, CountRange } from './sql/count-emails.sql';

/**
 * How many emails there are, hour by hour of their ids: counted in the transaction that accepts them, so it is exact, and
 * lists use it to count and to skip without touching a row.
 */
@Injectable()
export class EmailCountsService {
  constructor(private readonly counts: EmailCountsRepository) {}

  /** @throws UnavailableError */
  count(range: CountRange): Promise<number> {
    return this.counts.count(range);
  }

  /** The hours in which `limit` emails lie after the newest `offset` of the range, newest first. @throws UnavailableError */
  locate(range: CountRange, page: { offset: number; limit: number }): Promise<CountedHour[]> {
    return this.counts.locate(range, page);
  }
}

export type { CountedHour, CountRange } from './sql/count-emails.sql';
