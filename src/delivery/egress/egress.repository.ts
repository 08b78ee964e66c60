import { Injectable } from '@nestjs/common';
import { Database } from '../../database/database.service';
import type { Suspension } from './egress-pools';
import {
  type HeldSuspension,
  listSuspensions,
  removeSuspensions,
  writeSuspensions,
} from './sql/egress-suspensions.sql';

@Injectable()
export class EgressRepository {
  constructor(private readonly database: Database) {}

  async write(suspensions: readonly Suspension[]): Promise<void> {
    if (suspensions.length > 0) await this.database.run(writeSuspensions(suspensions));
  }

  /** Those that hold. */
  list(): Promise<HeldSuspension[]> {
    return this.database.run(listSuspensions());
  }

  /** Returns the number of removed rows. */
  async removeOver(): Promise<number> {
    return (await this.database.run(removeSuspensions())).length;
  }
}

export type { HeldSuspension };
