import type { Tenant } from '../../common/tenant';

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

/** What an organization may put on the list, and take off again. */
export const OWN_REASONS = ['manual', 'unsubscribe'] as const satisfies readonly SuppressionReason[];

/** Reasons kept after the erasure of an address, as a hash: the recipient refuses mail, or the mailbox does not exist. */
export function isLastingReason(reason: SuppressionReason): boolean {
  return reason === 'spam_complaint' || reason === 'hard_bounce' || reason === 'blocklist';
}

/** Whether an organization may set and remove a reason itself. */
export function isOwnReason(reason: SuppressionReason): boolean {
  return (OWN_REASONS as readonly SuppressionReason[]).includes(reason);
}

/** The strongest reason; undefined of none. */
export function strongest(reasons: readonly SuppressionReason[]): SuppressionReason | undefined {
  return SUPPRESSION_REASONS.find((reason) => reasons.includes(reason));
}

/** Three soft bounces within 30 days suppress an address for 14 days. */
export const SOFT_BOUNCE_RULE = { bounces: 3, windowDays: 30, suppressedDays: 14 } as const;

/** An address to look up; `key` is its normal form. */
export interface AddressLookup extends Tenant {
  readonly key: string;
}

/** A recipient of a mail to be sent; `category` decides which entries block it. */
export interface MailLookup extends AddressLookup {
  readonly category: 'transactional' | 'bulk';
}

export interface NewSuppression extends Tenant {
  readonly email: string;
  readonly reason: SuppressionReason;
  readonly expiresAt?: Date;
}

/** A recipient whose delivery has ended for a reason that may pass. */
export interface SoftBounce extends Tenant {
  readonly email: string;
  readonly at: Date;
}

/** The domain of a recipient does not exist in DNS now. */
export interface MissingDomainLookup extends Tenant {
  readonly email: string;
}

/** Observations further apart do not count together. */
export const MISSING_DOMAIN_WINDOW_DAYS = 30;

/** The key that an organization's erased addresses are hashed with, as it is stored. */
export interface EncryptedHashKey {
  readonly organizationId: string;
  readonly secret: Buffer;
}
