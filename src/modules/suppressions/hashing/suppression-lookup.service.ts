import { Injectable } from '@nestjs/common';
import type { AddressLookup, SuppressionReason } from '../suppression';
import { SuppressionsRepository } from '../suppressions.repository';
import { AddressHashing } from './address-hashing.service';

export interface ListedAddress {
  /** Index into the addresses asked for. */
  readonly index: number;
  readonly reason: SuppressionReason;
}

/** Looks addresses up under their names and, where an organization has hashed entries, under their hashes as well. */
@Injectable()
export class SuppressionLookup {
  constructor(
    private readonly suppressions: SuppressionsRepository,
    private readonly hashing: AddressHashing,
  ) {}

  /** Every entry in force at `now`. One query; a second one for organizations that have erased somebody. */
  async find(addresses: readonly AddressLookup[], now: Date): Promise<ListedAddress[]> {
    const { found, hashKeys } = await this.suppressions.findSuppressed(addresses, now);
    if (hashKeys.length === 0) return found;
    const keys = new Map(hashKeys.map((key) => [key.organizationId, key]));
    const hashed = addresses.flatMap((address, index) => {
      const key = keys.get(address.organizationId);
      return key ? [{ ...this.hashing.hash(address, key), index }] : [];
    });
    const { found: byHash } = await this.suppressions.findSuppressed(hashed, now);
    return [...found, ...byHash.map(({ index, reason }) => ({ index: hashed[index]?.index ?? -1, reason }))];
  }
}
