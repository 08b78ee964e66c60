import { Injectable } from '@nestjs/common';
import { NotFoundError } from '../../../common/errors/app-error';
import type { Transaction } from '../../../database/transaction';
import { DomainsRepository } from '../registry/domains.repository';
import {
  TLS_POLICY_TYPES,
  TLS_SUCCESS,
  type TlsReport,
  type TlsResult,
  type TlsTotals,
} from '../registry/aggregate-report';

/** Of one domain; senders send one a day each. */
const MAX_REPORTS_PER_DAY = 200;
/** Domains that one report may be about. */
const MAX_DOMAINS = 20;
/** Of one report and domain; the largest are kept. */
const MAX_RESULTS = 300;
const SHOWN_RESULTS = 200;

/** What a report says of one domain. */
export interface TlsShare {
  readonly owner: { readonly organizationId: string; readonly domainId: string };
  readonly report: Omit<TlsReport, 'domains'>;
  readonly results: readonly TlsResult[];
}

/** What senders report of their connections to the mail exchangers of our tenants' domains. */
@Injectable()
export class TlsReportsService {
  constructor(private readonly domains: DomainsRepository) {}

  /**
   * The verified domains that a report is about, each with its part of it. It changes nothing.
   * @throws UnavailableError
   */
  async sharesOf({ domains, ...report }: TlsReport): Promise<TlsShare[]> {
    const shares: TlsShare[] = [];
    for (const [name, results] of [...domains].slice(0, MAX_DOMAINS)) {
      const named = await this.domains.findByName(name);
      const domain = named.find(({ verificationStatus }) => verificationStatus === 'verified');
      if (!domain) continue;
      const owner = { organizationId: domain.organizationId, domainId: domain.id };
      shares.push({ owner, report, results: summed(results) });
    }
    return shares;
  }

  /** Stores what a report says, once. */
  async record(shares: readonly TlsShare[], tx: Transaction): Promise<void> {
    for (const { owner, report, results } of shares) {
      await this.domains.addTlsResults({ owner, report, results }, MAX_REPORTS_PER_DAY, tx);
    }
  }

  /** The reports of the last days; of results the 200 largest, failures before successes. @throws NotFoundError */
  async view(organizationId: string, domainId: string, days: number): Promise<TlsTotals> {
    if (!(await this.domains.find(organizationId, domainId))) throw new NotFoundError('Domain');
    return this.domains.sumTlsResults({ organizationId, domainId }, days, SHOWN_RESULTS);
  }

  /** Returns how many rows went. */
  deleteOld(days: number, limit: number): Promise<number> {
    return this.domains.deleteOldTlsResults(days, limit);
  }
}

/** One for each kind. */
function summed(results: readonly TlsResult[]): TlsResult[] {
  const sums = new Map<string, TlsResult>();
  for (const result of results) {
    const key = `${result.policyType} ${result.result} ${result.mxHost}`;
    sums.set(key, { ...result, sessions: (sums.get(key)?.sessions ?? 0) + result.sessions });
  }
  return [...sums.values()].sort((one, other) => other.sessions - one.sessions).slice(0, MAX_RESULTS);
}

export { TLS_POLICY_TYPES, TLS_SUCCESS };
export type { TlsReport, TlsResult };
