import { Injectable } from '@nestjs/common';
import { Database } from '../../../database/database.service';
import { countDueDomains } from './sql/count-due-domains.sql';
import { type DueDomain, takeDueDomains } from './sql/take-due-domains.sql';

/** The domains whose next look at the DNS is due, of every organization. */
@Injectable()
export class DueDomainsRepository {
  constructor(private readonly database: Database) {}

  /** Nobody else gets them before `until`, unless they are put off or due again by then. */
  take(now: Date, until: Date, limit: number): Promise<DueDomain[]> {
    return this.database.run(takeDueDomains(now, until, limit));
  }

  async count(now: Date): Promise<number> {
    return (await this.database.run(countDueDomains(now)))[0]?.count ?? 0;
  }
}
