import { Injectable } from '@nestjs/common';
import { Clock } from '../../common/clock';
import { hasForms } from '../../common/address-forms';
import { addressKey } from '../../common/mail-address';
import type { Tenant } from '../../common/tenant';
import { databaseErrorCode } from '../../database/statements/database-errors';
import type { Transaction } from '../../database/statements/transaction';
import { AddressHashing } from './address-hashing.service';
import type { SuppressedAddress } from './sql/suppression-entries.sql';
import {
  type AddressLookup,
  formsOf,
  type MailLookup,
  MISSING_DOMAIN_WINDOW_DAYS,
  type MissingDomainLookup,
  SOFT_BOUNCE_RULE,
  type NewSuppression,
  type SoftBounce,
  strongest,
  type SuppressionReason,
} from './suppression';
import { SuppressionsRepository } from './suppressions.repository';

/** SQLSTATE of the function refuse_listed; classes that begin with I to Z are reserved for applications. */
const LISTED = 'WB001';

/** Whether an error is the one with which `refuseListed` fails a transaction. */
export function isListed(error: unknown): boolean {
  return databaseErrorCode(error) === LISTED;
}

/** Suppression checks and automatic suppressions: used when mail is accepted, sent and settled. */
@Injectable()
export class SuppressionsService {
  constructor(
    private readonly suppressions: SuppressionsRepository,
    private readonly hashing: AddressHashing,
    private readonly clock: Clock,
  ) {}

  /**
   * The strongest reason for each address that blocks a mail of its category, by index into `addresses`.
   * Transactional mail ignores `unsubscribe` entries, and only those.
   */
  async findBlocking(addresses: readonly MailLookup[]): Promise<Map<number, SuppressionReason>> {
    const blocking = new Map<number, SuppressionReason>();
    if (addresses.length === 0) return blocking;
    for (const { index, reason } of await this.find(addresses, this.clock.now())) {
      if (reason === 'unsubscribe' && addresses[index]?.category === 'transactional') continue;
      const known = blocking.get(index);
      blocking.set(index, (known && strongest([known, reason])) ?? reason);
    }
    return blocking;
  }

  /**
   * Fails the caller's transaction, with an error that `isListed` recognises, when one of the addresses may block its mail. It may
   * be a false alarm: `findBlocking` decides.
   */
  refuseListed(addresses: readonly MailLookup[], tx: Transaction): void {
    if (addresses.length === 0) return;
    this.suppressions.refuseListed([...addresses, ...otherForms(addresses)], this.clock.now(), tx);
  }

  /** The strongest reason for which an address is on the list; undefined when it is not. */
  async reasonOf({ organizationId, mode }: Tenant, email: string): Promise<SuppressionReason | undefined> {
    const address = { organizationId, mode, key: addressKey(email) };
    const found = await this.find([address], this.clock.now());
    return strongest(found.map(({ reason }) => reason));
  }

  /** Whether an address is on the list for this reason, among others. */
  async isListedFor(reason: SuppressionReason, { organizationId, mode }: Tenant, email: string): Promise<boolean> {
    const found = await this.find([{ organizationId, mode, key: addressKey(email) }], this.clock.now());
    return found.some((entry) => entry.reason === reason);
  }

  /** Lists addresses within the caller's transaction. */
  suppress(rows: readonly NewSuppression[], tx: Transaction): void {
    if (rows.length > 0) this.suppressions.add(rows, this.clock.now(), tx);
  }

  /** Counts soft bounces within the caller's transaction; an address that exceeds SOFT_BOUNCE_RULE is listed for a while. */
  recordSoftBounces(rows: readonly SoftBounce[], tx: Transaction): void {
    if (rows.length > 0) this.suppressions.recordSoftBounces(rows, SOFT_BOUNCE_RULE, this.clock.now(), tx);
  }

  /** Records within the caller's transaction that recipients' domains do not exist; on a second day the address is listed. */
  recordMissingDomains(rows: readonly MissingDomainLookup[], tx: Transaction): void {
    if (rows.length > 0) this.suppressions.recordMissingDomains(rows, MISSING_DOMAIN_WINDOW_DAYS, tx);
  }

  /** Every entry in force at `now`, under the address itself or its hash. One query; a second one for organizations with erased addresses. */
  private async find(addresses: readonly AddressLookup[], now: Date): Promise<SuppressedAddress[]> {
    const others = otherForms(addresses);
    const named = others.length === 0 ? addresses : [...addresses, ...others];
    const { found, hashKeys } = await this.suppressions.findSuppressed(named, now);
    const indexOf = (index: number) => others[index - addresses.length]?.index ?? index;
    const plain = found.map(({ index, reason }) => ({ index: indexOf(index), reason }));
    if (hashKeys.length === 0) return plain;
    const keys = new Map(hashKeys.map((key) => [key.organizationId, key]));
    const hashed = named.flatMap((address, index) => {
      const key = keys.get(address.organizationId);
      return key ? [{ ...this.hashing.hash(address, key), index: indexOf(index) }] : [];
    });
    const { found: byHash } = await this.suppressions.findSuppressed(hashed, now);
    return [...plain, ...byHash.map(({ index, reason }) => ({ index: hashed[index]?.index ?? -1, reason }))];
  }
}

/** Addresses under the further keys that they may be listed under, hardly ever any, with their index. */
function otherForms<Address extends AddressLookup>(addresses: readonly Address[]): (Address & { index: number })[] {
  const others: (Address & { index: number })[] = [];
  for (const [index, address] of addresses.entries()) {
    if (!hasForms(address.key)) continue;
    for (const form of formsOf(address)) if (form.key !== address.key) others.push({ ...form, index });
  }
  return others;
}

export {
  SUPPRESSION_REASONS,
  type MailLookup,
  type MissingDomainLookup,
  type NewSuppression,
  type SoftBounce,
  type SuppressionReason,
} from './suppression';
