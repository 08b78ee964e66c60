import { Injectable } from '@nestjs/common';
import { NotFoundError } from '../../../common/errors/app-error';
import type { Transaction } from '../../../database/transaction';
import { DomainsRepository } from '../registry/domains.repository';
import {
  type DmarcRecommendation,
  type DmarcRecord,
  type DmarcReport,
  type DmarcSource,
  type DmarcTotals,
  recommend,
} from '../registry/aggregate-report';

/** Of one domain; receivers send one a day each. */
const MAX_REPORTS_PER_DAY = 200;
/** Of one report and domain; those with the most messages are kept. */
const MAX_SOURCES = 1_000;
/** Domains that one report may be about: that of the policy, and its subdomains. */
const MAX_DOMAINS = 20;
const SHOWN_SOURCES = 200;

/** What a report says of one domain. */
export interface DmarcShare {
  readonly owner: { readonly organizationId: string; readonly domainId: string };
  readonly report: DmarcReport;
}

export interface DmarcView {
  readonly totals: DmarcTotals;
  /** The 200 of which most failed, and then the largest. */
  readonly sources: readonly DmarcSource[];
  readonly recommendation: DmarcRecommendation;
}

/** What receivers report of mail in the names of our tenants' domains. */
@Injectable()
export class DmarcReportsService {
  constructor(private readonly domains: DomainsRepository) {}

  /**
   * The verified domains that a report is about, each with its part of it: by the domain that people saw, else by that of the
   * policy. It changes nothing.
   * @throws UnavailableError
   */
  async sharesOf(report: DmarcReport): Promise<DmarcShare[]> {
    const shares: DmarcShare[] = [];
    for (const [name, records] of byDomain(report)) {
      const named = await this.domains.findByName(name);
      const domain = named.find(({ verificationStatus }) => verificationStatus === 'verified');
      if (!domain) continue;
      const { organizationId, id: domainId } = domain;
      shares.push({ owner: { organizationId, domainId }, report: { ...report, records: summed(records) } });
    }
    return shares;
  }

  /** Stores what a report says, once. */
  async record(shares: readonly DmarcShare[], tx: Transaction): Promise<void> {
    for (const { owner, report } of shares) {
      await this.domains.addDmarcReport(owner, report, MAX_REPORTS_PER_DAY, tx);
    }
  }

  /** The reports of the last days. @throws NotFoundError */
  async view(organizationId: string, domainId: string, days: number): Promise<DmarcView> {
    if (!(await this.domains.find(organizationId, domainId))) throw new NotFoundError('Domain');
    const owner = { organizationId, domainId };
    const totals = await this.domains.sumDmarc(owner, days);
    const sources = await this.domains.sumDmarcSources(owner, days, SHOWN_SOURCES);
    return { totals, sources, recommendation: recommend(totals) };
  }

  /** Returns how many rows went. */
  deleteOld(days: number, limit: number): Promise<number> {
    return this.domains.deleteOldDmarc(days, limit);
  }
}

/** Mail in the name of a foreign domain is not the policy's: a report cannot reach beyond its own domain. */
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

/** One for each source, result and disposition. */
function summed(records: readonly DmarcRecord[]): DmarcRecord[] {
  const sums = new Map<string, DmarcRecord>();
  for (const record of records) {
    const key = `${record.sourceIp} ${record.dkim} ${record.spf} ${record.disposition}`;
    const messages = (sums.get(key)?.messages ?? 0) + record.messages;
    sums.set(key, { ...record, messages });
  }
  return [...sums.values()].sort((one, other) => other.messages - one.messages).slice(0, MAX_SOURCES);
}

export type { DmarcRecord, DmarcReport };
