import { Injectable } from '@nestjs/common';
import { Database } from '../../database/pool/database.service';
import type { Transaction } from '../../database/statements/transaction';
import {
  endSuspensions,
  type HeldListing,
  type HeldSuspension,
  listChecks,
  type Listing,
  type ListingState,
  listSuspensions,
  newestAge,
  removeSuspensions,
  replaceChecks,
  type Suspension,
  writeSuspensions,
  type WrittenSuspension,
} from './sql/egress-addresses.sql';
import {
  type AddressProgress,
  changeWarmUp,
  listAddresses,
  listTodaysVolumes,
  registerAddresses,
  removeOldVolumes,
  returnVolume,
  type TakenVolume,
  takeVolume,
  type TodaysVolume,
  type UnusedVolume,
} from './sql/warm-up.sql';

/** Our source addresses: receivers that refuse them, their warm-up, and what block lists say of them. */
@Injectable()
export class EgressAddressesRepository {
  constructor(private readonly database: Database) {}

  /** Returns those that did not hold before. @param also in the same transaction: with these */
  async writeSuspensions(
    suspensions: readonly Suspension[],
    also: (begun: readonly WrittenSuspension[], tx: Transaction) => Promise<void>,
  ): Promise<WrittenSuspension[]> {
    if (suspensions.length === 0) return [];
    return this.database.transaction(async (tx) => {
      const begun = (await tx.run(writeSuspensions(suspensions))).filter(({ isNew }) => isNew);
      await also(begun, tx);
      return begun;
    });
  }

  /** Returns the groups of those that held. @param key undefined: of all receivers */
  async endSuspensions(address: string, key: string | undefined, tx: Transaction): Promise<string[]> {
    return (await tx.run(endSuspensions(address, key))).map((row) => row.key);
  }

  /** Those that hold. */
  listSuspensions(): Promise<HeldSuspension[]> {
    return this.database.run(listSuspensions());
  }

  /** Returns the number of removed rows. */
  async removeSuspensions(): Promise<number> {
    return (await this.database.run(removeSuspensions())).length;
  }

  /** Stores the addresses of the pools. @param addresses may be empty: later ones are new */
  async registerAddresses(addresses: readonly { address: string; isWarm: boolean }[]): Promise<void> {
    await this.database.run(registerAddresses(addresses));
  }

  /** How far they are with their warm-up. Days are UTC, by the database's clock. */
  listAddresses(): Promise<AddressProgress[]> {
    return this.database.run(listAddresses());
  }

  /** Of the busiest providers of each address that warms up. */
  listTodaysVolumes(): Promise<TodaysVolume[]> {
    return this.database.run(listTodaysVolumes());
  }

  /** Undefined for an address that is not registered. @param schedule daily volumes */
  async takeVolume(
    address: string,
    provider: string,
    wanted: number,
    schedule: readonly number[],
  ): Promise<TakenVolume | undefined> {
    const [, , taken] = await this.database.runAll(takeVolume(address, provider, wanted, schedule));
    return taken?.[0];
  }

  async returnVolume(unused: readonly UnusedVolume[]): Promise<void> {
    if (unused.length > 0) await this.database.run(returnVolume(unused));
  }

  /** @param isWarm false: restart with day 1 */
  async changeWarmUp(address: string, isWarm: boolean, tx: Transaction): Promise<void> {
    await tx.run(changeWarmUp(address, isWarm));
  }

  /** Returns the number of removed rows. */
  async removeOldVolumes(): Promise<number> {
    const [row] = await this.database.run(removeOldVolumes());
    return row?.removed ?? 0;
  }

  /**
   * Replaces the results of block lists for our addresses; a listing stays while its list is `unknown`.
   * @param listings each address and list once
   */
  async replaceListings(listings: readonly Listing[]): Promise<void> {
    await this.database.run(replaceChecks(listings));
  }

  listListings(): Promise<HeldListing[]> {
    return this.database.run(listChecks());
  }

  /** Of the newest check; undefined before the first. */
  async newestListingAgeMs(): Promise<number | undefined> {
    const [row] = await this.database.run(newestAge());
    return row?.ageMs ?? undefined;
  }
}

export type {
  AddressProgress,
  HeldListing,
  HeldSuspension,
  Listing,
  ListingState,
  Suspension,
  TodaysVolume,
  UnusedVolume,
  WrittenSuspension,
};
