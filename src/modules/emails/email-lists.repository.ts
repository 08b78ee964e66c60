import { Injectable } from '@nestjs/common';
import { In } from 'typeorm';
import type { Tenant } from '../../common/tenant';
import { acrossTenants } from '../../common/tenant-scope';
import { ReadDatabase } from '../../database/read-database.service';
import { Email, EmailContent } from './email.entity';
import type { IdRange } from './id-range';
import { countIds, listIds, type Page, SEARCH_WINDOW, searchEmails, type SearchTerms } from './sql/list-emails.sql';

export type EmailBodies = Pick<EmailContent, 'emailId' | 'html' | 'text'>;

/** What a search found among the emails that it examined. */
export interface FoundEmails {
  readonly ids: readonly string[];
  readonly total: number;
  /** Set when there are more emails than were examined: the id where the search stopped. */
  readonly stoppedAt: string | undefined;
}

/** Reads lists of emails, from the replica where there is one. */
@Injectable()
export class EmailListsRepository {
  constructor(private readonly reads: ReadDatabase) {}

  /** A page of the ids of the ranges, newest first. */
  async listIds(tenant: Tenant, ranges: readonly IdRange[], page: Page): Promise<string[]> {
    if (ranges.length === 0) return [];
    return (await this.reads.run(listIds(tenant, ranges, page))).map(({ id }) => id);
  }

  async count(tenant: Tenant, range: IdRange): Promise<number> {
    const [row] = await this.reads.run(countIds(tenant, range));
    return row?.emails ?? 0;
  }

  async search(tenant: Tenant, range: IdRange, terms: SearchTerms, page: Page): Promise<FoundEmails> {
    const statement = searchEmails(tenant, range, terms, page);
    // As the service: an index on lower() is closed to policies, since lower() is not leakproof, and every row would be read.
    const isByAddress = terms.recipient !== undefined;
    const [found] = await (isByAddress ? acrossTenants(() => this.reads.run(statement)) : this.reads.run(statement));
    if (!found) return { ids: [], total: 0, stoppedAt: undefined };
    const { ids, total, examined, oldest } = found;
    return { ids, total, stoppedAt: examined === SEARCH_WINDOW && oldest !== null ? oldest : undefined };
  }

  /** Newest first; those that are gone are left out. */
  async findAll({ organizationId, mode }: Tenant, ids: readonly string[]): Promise<Email[]> {
    if (ids.length === 0) return [];
    const emails = await this.reads.find((manager) =>
      manager.getRepository(Email).findBy({ organizationId, mode, id: In(ids) }),
    );
    return emails.sort((one, other) => (one.id < other.id ? 1 : -1));
  }

  /** The bodies of at most so many bytes; longer ones stay in the database, which knows their length without reading them. */
  findShortBodies(
    { organizationId, mode }: Tenant,
    emailIds: readonly string[],
    maxBytes: number,
  ): Promise<EmailBodies[]> {
    if (emailIds.length === 0) return Promise.resolve([]);
    return this.reads.find((manager) =>
      manager
        .getRepository(EmailContent)
        .createQueryBuilder('c')
        .select('c.email_id', 'emailId')
        .addSelect('case when octet_length(c.html) <= :maxBytes then c.html end', 'html')
        .addSelect('case when octet_length(c.text) <= :maxBytes then c.text end', 'text')
        .where({ organizationId, mode, emailId: In(emailIds) })
        .setParameters({ maxBytes })
        .getRawMany<EmailBodies>(),
    );
  }
}

export type { Page };
