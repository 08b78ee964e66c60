/** The verified domain that a report is about. */
export interface DomainOfReport {
  readonly organizationId: string;
  readonly domainId: string;
}

/** What reports on a domain may take within a day; they are not authenticated. */
export interface ReportLimits {
  readonly reportsPerDay: number;
  readonly rowsPerDay: number;
}

export type DmarcPolicy = 'none' | 'quarantine' | 'reject';

/** A source of mail in an aggregate report. */
export interface DmarcRecord {
  readonly sourceIp: string;
  readonly messages: number;
  /** The From domain; undefined when the report has none. */
  readonly headerFrom: string | undefined;
  /** Whether a signature passed and was aligned. */
  readonly dkim: boolean;
  /** Whether the return path passed and was aligned. */
  readonly spf: boolean;
  /** What the receiver did with the mail. */
  readonly disposition: DmarcPolicy;
}

/** A receiver's report on mail in a domain's name (RFC 7489 appendix C). Its author is not authenticated. */
export interface DmarcReport {
  /** The domain of the DMARC policy. */
  readonly domain: string;
  /** The receiver, as it calls itself. */
  readonly reporter: string;
  readonly reportId: string;
  readonly begin: Date;
  readonly end: Date;
  readonly policy: DmarcPolicy;
  readonly records: readonly DmarcRecord[];
}

export interface DmarcTotals {
  readonly reports: number;
  readonly reporters: number;
  /** The policy in the newest report; undefined without one. */
  readonly policy: DmarcPolicy | undefined;
  /** Days from the start of the first to the end of the last report. */
  readonly days: number;
  readonly messages: number;
  readonly passed: number;
}

export interface DmarcSource {
  readonly sourceIp: string;
  readonly messages: number;
  readonly dkimAligned: number;
  readonly spfAligned: number;
  /** Messages aligned by DKIM or SPF. */
  readonly passed: number;
  /** Messages that were quarantined or rejected. */
  readonly refused: number;
}

export const DMARC_ADVICE = ['wait', 'find_sources', 'raise_to_quarantine', 'raise_to_reject', 'keep'] as const;

export interface DmarcRecommendation {
  readonly code: (typeof DMARC_ADVICE)[number];
  readonly message: string;
}

const MIN_DAYS = 14;
const MIN_MESSAGES = 100;
/** The share that must pass. It is below 1 because forwarding breaks SPF, and some mailing lists break DKIM. */
const ENOUGH = 0.98;

/** Whether the policy can be raised by one step, and what prevents it. */
export function recommend({ policy, days, messages, passed }: DmarcTotals): DmarcRecommendation {
  if (policy === 'reject') {
    return { code: 'keep', message: 'The policy is p=reject already; there is nothing to raise' };
  }
  if (policy === undefined || messages < MIN_MESSAGES || days < MIN_DAYS) {
    const message = `Too little is known: wait for reports over ${MIN_DAYS} days and on ${MIN_MESSAGES} messages at least`;
    return { code: 'wait', message };
  }
  const share = `${((100 * passed) / messages).toFixed(1)} % of ${messages} messages pass`;
  if (passed / messages < ENOUGH) {
    const message = `${share}: find out which of the sources that fail are yours, and have them sign with DKIM, before you raise p=${policy}`;
    return { code: 'find_sources', message };
  }
  const next = policy === 'none' ? 'quarantine' : 'reject';
  return { code: `raise_to_${next}`, message: `${share}: the policy can be raised from p=${policy} to p=${next}` };
}

/** One kind of result of a sender's connections to a domain. */
export interface TlsResult {
  /** The type of the policy that the sessions were checked against. */
  readonly policyType: TlsPolicyType;
  /** `success`, or a failure type of RFC 8460 section 4.3. */
  readonly result: string;
  /** The receiving host; empty when the report has none. */
  readonly mxHost: string;
  readonly sessions: number;
}

export const TLS_POLICY_TYPES = ['sts', 'tlsa', 'no-policy-found'] as const;

export type TlsPolicyType = (typeof TLS_POLICY_TYPES)[number];

export const TLS_SUCCESS = 'success';

/** A sender's report on its connections to the mail exchangers of domains (RFC 8460). Its author is not verified. */
export interface TlsReport {
  /** The sender, as it calls itself. */
  readonly reporter: string;
  readonly reportId: string;
  readonly begin: Date;
  readonly end: Date;
  /** Results by the domain of the policy. */
  readonly domains: ReadonlyMap<string, readonly TlsResult[]>;
}

/** The results of several reports. */
export interface TlsTotals {
  readonly reports: number;
  readonly reporters: number;
  readonly results: readonly TlsResult[];
}
