import type { Mode } from '../../common/mode';

/** From the strongest to the weakest: of several entries for one address the strongest is shown. */
export const SUPPRESSION_REASONS = [
  'spam_complaint',
  'hard_bounce',
  'blocklist',
  'manual',
  'unsubscribe',
  'soft_bounce',
] as const;

export type SuppressionReason = (typeof SUPPRESSION_REASONS)[number];

/** An address to look up; `key` is its normal form. */
export interface AddressLookup {
  readonly organizationId: string;
  readonly mode: Mode;
  readonly key: string;
}

export interface NewSuppression {
  readonly organizationId: string;
  readonly mode: Mode;
  readonly email: string;
  readonly reason: SuppressionReason;
  readonly expiresAt?: Date;
}
