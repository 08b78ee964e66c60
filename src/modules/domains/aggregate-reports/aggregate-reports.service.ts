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
import { DomainsRepository } from '../registry/domains.repository';

/** For each domain; a receiver or sender sends one report a day. Rows are kept for 400 days. */
const LIMITS: ReportLimits = { reportsPerDay: 200, rowsPerDay: 2_500 };
/** Sources per report and domain; those with the most messages are kept. */
const MAX_SOURCES = 500;
/** Domains per report: for DMARC the domain of the policy and its subdomains. */
const MAX_DOMAINS = 20;
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
   * The verified domains that a report is about, each with its part of the report: by the From domain, else by the domain of the
   * policy. Reads only.
   * @throws UnavailableError
   */
  async sharesOf(report: DmarcReport): Promise<DmarcShare[]> {
    const shares: DmarcShare[] = [];
    for (const [name, records] of byDomain(report)) {
      const owner = await ownerOf(name, this.domains);
      if (owner) shares.push({ owner, report: { ...report, records: summedRecords(records) } });
    }
    return shares;
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

/** Records by domain; those of names outside the policy's domain are dropped, since a report can only be about its own domain. */
function byDomain({ domain, records }: DmarcReport): Map<string, DmarcRecord[]> {
  const groups = new Map<string, DmarcRecord[]>();
  for (const record of records) {
    const { headerFrom = domain } = record;
    if (headerFrom !== domain && !headerFrom.endsWith(`.${domain}`)) continue;
    const group = groups.get(headerFrom);
    if (group) group.push(record);
    else if (groups.size < MAX_DOMAINS) groups.set(headerFrom, [record]);
  }
  return groups;
}

/** Merges records with the same source, result and disposition. */
function summedRecords(records: readonly DmarcRecord[]): DmarcRecord[] {
  const sums = new Map<string, DmarcRecord>();
  for (const record of records) {
    const key = `${record.sourceIp} ${record.dkim} ${record.spf} ${record.disposition}`;
    const messages = (sums.get(key)?.messages ?? 0) + record.messages;
    sums.set(key, { ...record, messages });
  }
  return [...sums.values()].sort((one, other) => other.messages - one.messages).slice(0, MAX_SOURCES);
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
