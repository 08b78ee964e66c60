import { Injectable } from '@nestjs/common';
import type { Transaction } from '../../database/transaction';
import { type AddressLookup, type NewSuppression, SUPPRESSION_REASONS, type SuppressionReason } from './suppression';
import { SuppressionsRepository } from './suppressions.repository';

/** Who must not be written to. */
@Injectable()
export class SuppressionsService {
  constructor(private readonly suppressions: SuppressionsRepository) {}

  /**
   * The strongest reason for each address that blocks a mail of its category, by index into `addresses`.
   * Transactional mail ignores `unsubscribe` entries, and only those.
   */
  async findBlocking(
    addresses: readonly (AddressLookup & { readonly category: 'transactional' | 'bulk' })[],
  ): Promise<Map<number, SuppressionReason>> {
    const strongest = new Map<number, SuppressionReason>();
    if (addresses.length === 0) return strongest;
    for (const { index, reason } of await this.suppressions.findSuppressed(addresses)) {
      if (reason === 'unsubscribe' && addresses[index]?.category === 'transactional') continue;
      const known = strongest.get(index);
      if (known === undefined || isStronger(reason, known)) strongest.set(index, reason);
    }
    return strongest;
  }

  /** Lists addresses within the caller's transaction. */
  suppress(rows: readonly NewSuppression[], tx: Transaction): void {
    if (rows.length > 0) this.suppressions.add(rows, tx);
  }
}

function isStronger(one: SuppressionReason, other: SuppressionReason): boolean {
  return SUPPRESSION_REASONS.indexOf(one) < SUPPRESSION_REASONS.indexOf(other);
}

export { SUPPRESSION_REASONS, type NewSuppression, type SuppressionReason } from './suppression';
