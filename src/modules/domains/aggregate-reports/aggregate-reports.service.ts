import { Injectable } from '@nestjs/common';
import { NotFoundError } from '../../../common/errors/app-error';
import type { Transaction } from '../../../database/statements/transaction';
import {
  type DmarcRecommendation,
  type DmarcRecord,
  type DmarcReport,
  type DmarcSource,
  type DmarcTotals,
  type DomainOfReport,
  type ReportLimits,
  recommend,
  TLS_POLICY_TYPES,
  TLS_SUCCESS,
  type TlsReport,
  type TlsResult,
  type TlsTotals,
} from './aggregate-report';
import { AggregateReportsRepository } from './aggregate-reports.repository';
import { groupsOf, MAX_DOMAINS, summedRecords } from './dmarc-groups';
import type { Domain } from '../registry/domain.entity';
import { DomainsRepository } from '../registry/domains.repository';

/** For each domain; a receiver or sender sends one report a day. Rows are kept for 400 days. */
const LIMITS: ReportLimits = { reportsPerDay: 200, rowsPerDay: 2_500 };
const SHOWN_SOURCES = 200;

/** The owner of a domain; undefined when no organization has verified it. */
async function ownerOf(name: string, domains: DomainsRepository): Promise<DomainOfReport | undefined> {
  const domain = (await domains.findVerified(name)) ?? undefined;
  return domain && { organizationId: domain.organizationId, domainId: domain.id };
}

/** The part of a report about one domain. */
export interface DmarcShare {
  readonly owner: DomainOfReport;
  readonly report: DmarcReport;
}

export interface DmarcView {
  readonly totals: DmarcTotals;
  /** At most 200: those with the most failed messages first, then the largest. */
  readonly sources: readonly DmarcSource[];
  readonly recommendation: DmarcRecommendation;
}

/** Aggregate reports of receivers on mail in the name of tenants' domains (DMARC, RFC 7489). */
@Injectable()
export class DmarcReportsService {
  constructor(
    private readonly domains: DomainsRepository,
    private readonly reports: AggregateReportsRepository,
  ) {}

  /**
   * The verified domains that a report is about, each with its part of the report: by the From domain, or else the nearest one above
   * it up to the domain of the policy, which applies to the names below it too. Reads only.
   * @throws UnavailableError
   */
  async sharesOf(report: DmarcReport): Promise<DmarcShare[]> {
    const groups = groupsOf(report);
    const found = await this.domains.findVerifiedAmong([...new Set(groups.flatMap(({ names }) => names))]);
    const verified = new Map(found.map((domain) => [domain.domain, domain]));
    const parts = new Map<Domain, DmarcRecord[]>();
    for (const { names, records } of groups) {
      const domain = names.map((name) => verified.get(name)).find((known) => known !== undefined);
      if (domain) parts.set(domain, [...(parts.get(domain) ?? []), ...records]);
    }
    return [...parts].map(([{ organizationId, id }, records]) => ({
      owner: { organizationId, domainId: id },
      report: { ...report, records: summedRecords(records) },
    }));
  }

  /** Stores a report; one that is stored already changes nothing. */
  async record(shares: readonly DmarcShare[], tx: Transaction): Promise<void> {
    for (const { owner, report } of shares) {
      await this.reports.addDmarcReport(owner, report, LIMITS, tx);
    }
  }

  /** Sums the reports of the last days. @throws NotFoundError */
  async view(organizationId: string, domainId: string, days: number): Promise<DmarcView> {
    if (!(await this.domains.find(organizationId, domainId))) throw new NotFoundError('Domain');
    const owner = { organizationId, domainId };
    const totals = await this.reports.sumDmarc(owner, days);
    const sources = await this.reports.sumDmarcSources(owner, days, SHOWN_SOURCES);
    return { totals, sources, recommendation: recommend(totals) };
  }

  /** Returns the number of deleted rows. */
  deleteOld(days: number, limit: number): Promise<number> {
    return this.reports.deleteOldDmarc(days, limit);
  }
}

/** Results per report and domain; the largest are kept. */
const MAX_RESULTS = 300;
const SHOWN_RESULTS = 200;

/** The part of a report about one domain. */
export interface TlsShare {
  readonly owner: DomainOfReport;
  readonly report: Omit<TlsReport, 'domains'>;
  readonly results: readonly TlsResult[];
}

/** Reports of senders on their connections to the mail exchangers of tenants' domains (TLSRPT, RFC 8460). */
@Injectable()
export class TlsReportsService {
  constructor(
    private readonly domains: DomainsRepository,
    private readonly reports: AggregateReportsRepository,
  ) {}

  /**
   * The verified domains that a report is about, each with its part of the report. Reads only.
   * @throws UnavailableError
   */
  async sharesOf({ domains, ...report }: TlsReport): Promise<TlsShare[]> {
    const shares: TlsShare[] = [];
    for (const [name, results] of [...domains].slice(0, MAX_DOMAINS)) {
      const owner = await ownerOf(name, this.domains);
      if (owner) shares.push({ owner, report, results: summedResults(results) });
    }
    return shares;
  }

  /** Stores a report; one that is stored already changes nothing. */
  async record(shares: readonly TlsShare[], tx: Transaction): Promise<void> {
    for (const { owner, report, results } of shares) {
      await this.reports.addTlsResults({ owner, report, results }, LIMITS, tx);
    }
  }

  /** Sums the reports of the last days, with the 200 largest results, failures before successes. @throws NotFoundError */
  async view(organizationId: string, domainId: string, days: number): Promise<TlsTotals> {
    if (!(await this.domains.find(organizationId, domainId))) throw new NotFoundError('Domain');
    return this.reports.sumTlsResults({ organizationId, domainId }, days, SHOWN_RESULTS);
  }

  /** Returns the number of deleted rows. */
  deleteOld(days: number, limit: number): Promise<number> {
    return this.reports.deleteOldTlsResults(days, limit);
  }
}

/** Merges results of the same kind. */
function summedResults(results: readonly TlsResult[]): TlsResult[] {
  const sums = new Map<string, TlsResult>();
  for (const result of results) {
    const key = `${result.policyType} ${result.result} ${result.mxHost}`;
    sums.set(key, { ...result, sessions: (sums.get(key)?.sessions ?? 0) + result.sessions });
  }
  return [...sums.values()].sort((one, other) => other.sessions - one.sessions).slice(0, MAX_RESULTS);
}

export { TLS_POLICY_TYPES, TLS_SUCCESS };
export type { DmarcRecord, DmarcReport, TlsReport, TlsResult };
