import { Injectable } from '@nestjs/common';
import { Database } from '../../database/database.service';
import type { Transaction } from '../../database/transaction';
import { addSuppressions } from './sql/add-suppressions.sql';
import { findSuppressed, type SuppressedAddress } from './sql/find-suppressed.sql';
import type { AddressLookup, NewSuppression } from './suppression';

@Injectable()
export class SuppressionsRepository {
  constructor(private readonly database: Database) {}

  findSuppressed(addresses: readonly AddressLookup[]): Promise<SuppressedAddress[]> {
    return this.database.run(findSuppressed(addresses));
  }

  add(rows: readonly NewSuppression[], tx: Transaction): void {
    tx.write(addSuppressions(rows));
  }
}
