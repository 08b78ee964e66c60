export const RECORD_PURPOSES = ['verification', 'dkim', 'spf', 'dmarc', 'return_path', 'tracking'] as const;

export type RecordPurpose = (typeof RECORD_PURPOSES)[number];

/** A DNS record that a customer is asked to publish. */
export interface WantedRecord {
  readonly purpose: RecordPurpose;
  readonly type: 'TXT' | 'CNAME';
  /** Fully qualified, lower case, without the last dot. */
  readonly host: string;
  readonly value: string;
  readonly ttlSeconds: number;
}

/**
 * What the DNS says about a wanted record now. `unreachable`: it did not answer (SERVFAIL, a timeout), so nothing may be
 * concluded.
 */
export type RecordCheck =
  { readonly result: 'verified' } | { readonly result: 'missing' | 'wrong' | 'unreachable'; readonly problem: string };
