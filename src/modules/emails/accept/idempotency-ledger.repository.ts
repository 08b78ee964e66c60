import { Injectable } from '@nestjs/common';
import { Clock, HOUR } from '../../../common/clock';
import { AppConfig } from '../../../config/config';
import type { Transaction } from '../../../database/transaction';
import { findStoredResponses, lockIdempotencyKeys, storeResponses } from '../sql/idempotency.sql';
import type { IdempotencyClaim, ItemResult } from './submission';

/** What is known of a key. `in_progress`: another process is working on it right now. */
export type KeyState =
  | { readonly kind: 'free' }
  | { readonly kind: 'in_progress' }
  | { readonly kind: 'reused' }
  | { readonly kind: 'stored'; readonly response: ItemResult | ItemResult[] };

/** Remembers answers under their keys, in the transaction that makes them true. */
@Injectable()
export class IdempotencyLedgerRepository {
  constructor(
    private readonly clock: Clock,
    private readonly config: AppConfig,
  ) {}

  /** The state of each claim, in order; free keys are held until the transaction ends. */
  async examine(claims: readonly IdempotencyClaim[], tx: Transaction): Promise<KeyState[]> {
    const locks = await tx.run(lockIdempotencyKeys(claims));
    const notBefore = new Date(this.clock.now().getTime() - this.config.retention.idempotencyHours * HOUR);
    const stored = new Map((await tx.run(findStoredResponses(claims, notBefore))).map((row) => [row.index, row]));
    return claims.map((claim, index) => {
      const known = stored.get(index);
      if (known) {
        const same = claim.fingerprint.equals(known.fingerprint);
        return same ? { kind: 'stored', response: known.response } : { kind: 'reused' };
      }
      return locks[index]?.locked ? { kind: 'free' } : { kind: 'in_progress' };
    });
  }

  remember(
    rows: readonly { claim: IdempotencyClaim; response: ItemResult | readonly ItemResult[] }[],
    tx: Transaction,
  ): void {
    if (rows.length > 0) tx.write(storeResponses(rows, this.clock.now()));
  }
}
