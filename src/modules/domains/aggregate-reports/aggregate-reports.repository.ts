import { Injectable } from '@nestjs/common';
import { Database } from '../../../database/pool/database.service';
import type { Transaction } from '../../../database/statements/transaction';
import type {
  DmarcReport,
  DmarcSource,
  DmarcTotals,
  DomainOfReport,
  ReportLimits,
  TlsReport,
  TlsResult,
  TlsTotals,
} from './aggregate-report';
import { addSources, deleteOldDmarc, sumDmarc, sumDmarcSources } from './sql/dmarc-sources.sql';
import { addTlsResults, countTlsReports, deleteOldTlsResults, sumTlsResults } from './sql/tls-results.sql';

/** Owner of `dmarc_sources` and `tls_results`. */
@Injectable()
export class AggregateReportsRepository {
  constructor(private readonly database: Database) {}

  /** Adds what the limits leave room for. @param report each source, result and disposition once */
  async addDmarcReport(
    domain: DomainOfReport,
    report: DmarcReport,
    limits: ReportLimits,
    tx: Transaction,
  ): Promise<void> {
    await tx.run(addSources(domain, report, limits));
  }

  async sumDmarc(domain: DomainOfReport, days: number): Promise<DmarcTotals> {
    const [row] = await this.database.run(sumDmarc(domain, days));
    const nothing = { reports: 0, reporters: 0, days: 0, messages: 0, passed: 0 };
    return { ...nothing, ...row, policy: row?.policy ?? undefined };
  }

  sumDmarcSources(domain: DomainOfReport, days: number, limit: number): Promise<DmarcSource[]> {
    return this.database.run(sumDmarcSources(domain, days, limit));
  }

  /** Adds what the limits leave room for. @param share each kind of result once */
  async addTlsResults(
    {
      owner,
      report,
      results,
    }: { owner: DomainOfReport; report: Omit<TlsReport, 'domains'>; results: readonly TlsResult[] },
    limits: ReportLimits,
    tx: Transaction,
  ): Promise<void> {
    await tx.run(addTlsResults(owner, report, results, limits));
  }

  async sumTlsResults(domain: DomainOfReport, days: number, limit: number): Promise<TlsTotals> {
    const [counts] = await this.database.run(countTlsReports(domain, days));
    const results = await this.database.run(sumTlsResults(domain, days, limit));
    return { reports: 0, reporters: 0, ...counts, results };
  }

  /** Returns the number of deleted rows. */
  async deleteOldTlsResults(days: number, limit: number): Promise<number> {
    return (await this.database.run(deleteOldTlsResults(days, limit))).length;
  }

  /** Returns the number of deleted rows. */
  async deleteOldDmarc(days: number, limit: number): Promise<number> {
    return (await this.database.run(deleteOldDmarc(days, limit))).length;
  }
}
