import type { Mode } from '../../common/tenant';

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

/** What a customer may put on the list, and take off again. */
export const OWN_REASONS = ['manual', 'unsubscribe'] as const satisfies readonly SuppressionReason[];

/** What outlives the erasure of an address, as a hash: the receiving side does not want its mail, or has no such mailbox. */
export function isLastingReason(reason: SuppressionReason): boolean {
  return reason === 'spam_complaint' || reason === 'hard_bounce' || reason === 'blocklist';
}

export function isOwnReason(reason: SuppressionReason): boolean {
  return (OWN_REASONS as readonly SuppressionReason[]).includes(reason);
}

/** The strongest reason; undefined of none. */
export function strongest(reasons: readonly SuppressionReason[]): SuppressionReason | undefined {
  return SUPPRESSION_REASONS.find((reason) => reasons.includes(reason));
}

/** Whose list it is: every organization has one for each mode. */
export interface ListOwner {
  readonly organizationId: string;
  readonly mode: Mode;
}

/** An address to look up; `key` is its normal form. */
export interface AddressLookup extends ListOwner {
  readonly key: string;
}

/** A recipient of a mail that is to be sent; `category` tells which entries block it. */
export interface MailLookup extends AddressLookup {
  readonly category: 'transactional' | 'bulk';
}

export interface NewSuppression extends ListOwner {
  readonly email: string;
  readonly reason: SuppressionReason;
  readonly expiresAt?: Date;
}

/** A recipient whose delivery has ended for a reason that may pass. */
export interface SoftBounce extends ListOwner {
  readonly email: string;
  readonly at: Date;
}
