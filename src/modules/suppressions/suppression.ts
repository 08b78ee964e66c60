import { AppError } from '../../common/errors/app-error';
import { addressKeys, hasForms } from '../../common/address-forms';
import type { Tenant } from '../../common/tenant';

/** From the strongest to the weakest: the strongest of several entries for an address is shown. */
export const SUPPRESSION_REASONS = [
  'spam_complaint',
  'hard_bounce',
  'blocklist',
  'manual',
  'unsubscribe',
  'soft_bounce',
] as const;

export type SuppressionReason = (typeof SUPPRESSION_REASONS)[number];

/** The reasons that an organization may set and remove itself. */
export const OWN_REASONS = ['manual', 'unsubscribe'] as const satisfies readonly SuppressionReason[];

/** Whether entries with this reason are kept, hashed, after the erasure of an address: the recipient refuses mail, or the mailbox does not exist. */
export function isLastingReason(reason: SuppressionReason): boolean {
  return reason === 'spam_complaint' || reason === 'hard_bounce' || reason === 'blocklist';
}

/** Whether an organization may set and remove a reason itself. */
export function isOwnReason(reason: SuppressionReason): boolean {
  return (OWN_REASONS as readonly SuppressionReason[]).includes(reason);
}

/** The strongest of some reasons; undefined when there are none. */
export function strongest(reasons: readonly SuppressionReason[]): SuppressionReason | undefined {
  return SUPPRESSION_REASONS.find((reason) => reasons.includes(reason));
}

/** Three soft bounces within 30 days suppress an address for 14 days. */
export const SOFT_BOUNCE_RULE = { bounces: 3, windowDays: 30, suppressedDays: 14 } as const;

/** An address to look up; `key` is its normal form. */
export interface AddressLookup extends Tenant {
  readonly key: string;
}

/** An address under every key that it may be listed under. */
export function formsOf<Address extends AddressLookup>(address: Address): Address[] {
  if (!hasForms(address.key)) return [address];
  return addressKeys(address.key).map((key) => ({ ...address, key }));
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

/** A recipient whose delivery has failed for a temporary reason. */
export interface SoftBounce extends Tenant {
  readonly email: string;
  readonly at: Date;
}

/** A recipient whose domain does not exist in DNS at present. */
export interface MissingDomainLookup extends Tenant {
  readonly email: string;
}

/** Observations further apart do not count together. */
export const MISSING_DOMAIN_WINDOW_DAYS = 30;

/** The HMAC key for an organization's erased addresses, as stored. */
export interface EncryptedHashKey {
  readonly organizationId: string;
  readonly secret: Buffer;
}

/** The address has an entry in force for the same reason. */
export function alreadyListed(reason: SuppressionReason): AppError {
  return new AppError('suppression_exists', `The address is already on the suppression list as ${reason}`);
}

/** Only the operator removes an entry with this reason. */
export function notRemovable(reason: SuppressionReason): AppError {
  return new AppError('suppression_not_removable', `An entry with the reason ${reason} cannot be removed`, {
    details: { reason },
    suggestion: 'The operator of the service can remove it when the address is known to be good again',
  });
}

/** A part of a list. */
export interface SuppressionFilter {
  readonly reason?: SuppressionReason;
  /** Those under which an address may be listed; all addresses without them. */
  readonly keys?: readonly string[];
  readonly limit: number;
  readonly offset: number;
  /** Only those that come after an entry, in the order of the list. */
  readonly after?: { readonly at: string; readonly id: string } | undefined;
}
