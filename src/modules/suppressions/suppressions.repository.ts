import { Injectable } from '@nestjs/common';
import { Database } from '../../database/database.service';
import type { Transaction } from '../../database/transaction';
import { addSuppressions } from './sql/add-suppressions.sql';
import { deleteOldSoftBounces, deleteOldSuppressions } from './sql/delete-old-entries.sql';
import { findSuppressed, type SealedHashKey, type SuppressedAddress } from './sql/find-suppressed.sql';
import { refuseListed } from './sql/refuse-listed.sql';
import { recordSoftBounces, type SoftBounceRule } from './sql/record-soft-bounces.sql';
import type { AddressLookup, MailLookup, NewSuppression, SoftBounce } from './suppression';

/** What accepting, delivering and settling mail ask of the lists. */
@Injectable()
export class SuppressionsRepository {
  constructor(private readonly database: Database) {}

  /** Every entry in force at `now`, by index into `addresses`; and the keys of organizations with hashed entries. */
  async findSuppressed(
    addresses: readonly AddressLookup[],
    now: Date,
  ): Promise<{ found: SuppressedAddress[]; hashKeys: SealedHashKey[] }> {
    const rows = await this.database.run(findSuppressed(addresses, now));
    const found = rows.filter((row): row is SuppressedAddress => row.index !== null);
    return { found, hashKeys: rows.filter((row) => row.index === null) };
  }

  refuseListed(addresses: readonly MailLookup[], now: Date, tx: Transaction): void {
    tx.write(refuseListed(addresses, now));
  }

  add(rows: readonly NewSuppression[], now: Date, tx: Transaction): void {
    tx.write(addSuppressions(rows, now));
  }

  recordSoftBounces(rows: readonly SoftBounce[], rule: SoftBounceRule, now: Date, tx: Transaction): void {
    tx.write(recordSoftBounces(rows, rule, now));
  }

  /** Answers how many were deleted. */
  async deleteSoftBouncesBefore(before: Date, limit: number): Promise<number> {
    return (await this.database.run(deleteOldSoftBounces(before, limit))).length;
  }

  /** Answers how many were deleted. */
  async deleteExpiredBefore(before: Date, limit: number): Promise<number> {
    return (await this.database.run(deleteOldSuppressions(before, limit))).length;
  }
}
