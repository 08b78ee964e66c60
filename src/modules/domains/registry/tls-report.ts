/** What a sender's connections to a domain came to, of one kind. */
export interface TlsResult {
  /** The type of the policy that they were checked against. */
  readonly policyType: TlsPolicyType;
  /** `success`, or a failure in the words of RFC 8460 section 4.3. */
  readonly result: string;
  /** Of the receiving side; empty when the report does not say. */
  readonly mxHost: string;
  readonly sessions: number;
}

export const TLS_POLICY_TYPES = ['sts', 'tlsa', 'no-policy-found'] as const;

export type TlsPolicyType = (typeof TLS_POLICY_TYPES)[number];

export const TLS_SUCCESS = 'success';

/** What a sender says of its connections to the mail exchangers of domains (RFC 8460). Its author is not verified. */
export interface TlsReport {
  /** The sender, by its own account. */
  readonly reporter: string;
  readonly reportId: string;
  readonly begin: Date;
  readonly end: Date;
  /** By the domain of the policy. */
  readonly domains: ReadonlyMap<string, readonly TlsResult[]>;
}

/** The results of several reports. */
export interface TlsTotals {
  readonly reports: number;
  readonly reporters: number;
  readonly results: readonly TlsResult[];
}
