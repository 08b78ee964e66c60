import { Injectable } from '@nestjs/common';
import { Database } from '../../database/database.service';
import type { Transaction } from '../../database/transaction';
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

/** The warm-up of source addresses, of all workers together. Days are UTC, by the database's clock. */
@Injectable()
export class WarmUpRepository {
  constructor(private readonly database: Database) {}

  /** Makes the addresses of the pools known. @param addresses none as well */
  async register(addresses: readonly { address: string; isWarm: boolean }[]): Promise<void> {
    await this.database.run(registerAddresses(addresses));
  }

  list(): Promise<AddressProgress[]> {
    return this.database.run(listAddresses());
  }

  /** The busiest providers of each address that warms up. */
  today(): Promise<TodaysVolume[]> {
    return this.database.run(listTodaysVolumes());
  }

  /** Undefined for an address that is not registered. */
  async take(
    address: string,
    provider: string,
    wanted: number,
    schedule: readonly number[],
  ): Promise<TakenVolume | undefined> {
    const [, , taken] = await this.database.runAll(takeVolume(address, provider, wanted, schedule));
    return taken?.[0];
  }

  async giveBack(unused: readonly UnusedVolume[]): Promise<void> {
    if (unused.length > 0) await this.database.run(returnVolume(unused));
  }

  /** @param isWarm false: it begins again with day 1 */
  async change(address: string, isWarm: boolean, tx: Transaction): Promise<void> {
    await tx.run(changeWarmUp(address, isWarm));
  }

  /** Returns the number of removed rows. */
  async removeOld(): Promise<number> {
    const [row] = await this.database.run(removeOldVolumes());
    return row?.removed ?? 0;
  }
}

export type { AddressProgress, TodaysVolume };
