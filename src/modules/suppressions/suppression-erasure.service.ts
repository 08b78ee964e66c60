import { Injectable } from '@nestjs/common';
import { addressKey, maskAddress } from '../../common/mail-address';
import type { Tenant } from '../../common/tenant';
import type { Transaction } from '../../database/transaction';
import { type AddressLookup, isLastingReason, type SuppressionReason } from './suppression';
import type { Suppression } from './suppression.entity';
import { SuppressionsRepository } from './suppressions.repository';
import { AddressHashing } from './address-hashing.service';

export interface ErasedSuppressions {
  readonly removed: number;
  readonly hashed: number;
  /** Reasons for which the address stays blocked, including those of earlier erasures. */
  readonly kept: readonly SuppressionReason[];
}

/** Removes an address from a suppression list. Entries that protect the recipient stay in force as a keyed hash. */
@Injectable()
export class SuppressionErasure {
  constructor(
    private readonly suppressions: SuppressionsRepository,
    private readonly hashing: AddressHashing,
  ) {}

  /** The reasons that would be kept if the address were erased now. */
  async keptReasons(owner: Tenant, email: string): Promise<SuppressionReason[]> {
    const address = { ...owner, key: addressKey(email) };
    const hashed = await this.hashing.findHashed(address);
    const reasons = await this.suppressions.reasonsOf(hashed ? [address, hashed] : [address]);
    return [...new Set(reasons)].filter(isLastingReason);
  }

  /** @param email normal form */
  async erase(owner: Tenant, email: string, tx: Transaction): Promise<ErasedSuppressions> {
    const address = { ...owner, key: addressKey(email) };
    const entries = await this.suppressions.lock(address, tx);
    const lasting = entries.filter(({ reason, expiresAt }) => isLastingReason(reason) && expiresAt === null);
    const others = entries.filter((entry) => !lasting.includes(entry)).map(({ reason }) => reason);
    const before = await this.hashedBefore(address, tx);
    if (others.length > 0) await this.suppressions.delete(address, others, tx);
    await this.hash(address, lasting, { before, email: maskAddress(email) }, tx);
    await this.suppressions.deleteSoftBounces(address, tx);
    await this.suppressions.deleteMissingDomain(address, tx);
    const kept = [...new Set([...before, ...lasting].map(({ reason }) => reason))];
    return { removed: others.length, hashed: lasting.length, kept };
  }

  private async hashedBefore(address: AddressLookup, tx: Transaction): Promise<Suppression[]> {
    const hashed = await this.hashing.findHashed(address, tx);
    return hashed ? this.suppressions.lock(hashed, tx) : [];
  }

  /** Replaces the address by its hash; an entry under the hash that exists already stays, with its date. */
  private async hash(
    address: AddressLookup,
    entries: readonly Suppression[],
    { before, email }: { before: readonly Suppression[]; email: string },
    tx: Transaction,
  ): Promise<void> {
    if (entries.length === 0) return;
    const hashed = await this.hashing.ensureHashed(address, tx);
    const isThere = (entry: Suppression) => before.some(({ reason }) => reason === entry.reason);
    const doubles = entries.filter(isThere).map(({ reason }) => reason);
    if (doubles.length > 0) await this.suppressions.delete(address, doubles, tx);
    for (const entry of entries.filter((other) => !isThere(other))) {
      await this.suppressions.hash(entry, { addressKey: hashed.key, email }, tx);
    }
  }
}

export type { SuppressionReason };
