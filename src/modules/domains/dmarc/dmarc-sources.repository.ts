import { Injectable } from '@nestjs/common';
import { Database } from '../../../database/database.service';
import type { Transaction } from '../../../database/transaction';
import type { DmarcRecord, DmarcReport, DmarcSource, DmarcTotals } from './dmarc-report';
import { addSources, deleteOldDmarc, type DomainOfReport, sumDmarc, sumDmarcSources } from './sql/dmarc-sources.sql';

export type { DomainOfReport };

/** Owner of `dmarc_sources`. */
@Injectable()
export class DmarcSourcesRepository {
  constructor(private readonly database: Database) {}

  /** Returns how many rows are new. */
  async add(
    domain: DomainOfReport,
    report: DmarcReport,
    records: readonly DmarcRecord[],
    maxReportsPerDay: number,
    tx: Transaction,
  ): Promise<number> {
    return (await tx.run(addSources(domain, report, records, maxReportsPerDay))).length;
  }

  async sum(domain: DomainOfReport, days: number): Promise<DmarcTotals> {
    const [row] = await this.database.run(sumDmarc(domain, days));
    const nothing = { reports: 0, reporters: 0, days: 0, messages: 0, passed: 0 };
    return { ...nothing, ...row, policy: row?.policy ?? undefined };
  }

  sources(domain: DomainOfReport, days: number, limit: number): Promise<DmarcSource[]> {
    return this.database.run(sumDmarcSources(domain, days, limit));
  }

  async deleteOld(days: number, limit: number): Promise<number> {
    return (await this.database.run(deleteOldDmarc(days, limit))).length;
  }
}
