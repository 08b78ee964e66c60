import { Injectable } from '@nestjs/common';
import { Clock } from '../../common/clock';
import { addressKey } from '../../common/mail-address';
import { databaseErrorCode } from '../../database/database-errors';
import type { Transaction } from '../../database/transaction';
import { SuppressionLookup } from './hashing/suppression-lookup.service';
import { SOFT_BOUNCE_RULE } from './soft-bounce-rule';
import {
  type MailLookup,
  type ListOwner,
  type NewSuppression,
  type SoftBounce,
  strongest,
  type SuppressionReason,
} from './suppression';
import { SuppressionsRepository } from './suppressions.repository';

/** SQLSTATE of the function refuse_listed; the classes from I to Z are left to applications. */
const LISTED = 'WB001';

/** True for what `refuseListed` made a transaction fail with. */
export function isListed(error: unknown): boolean {
  return databaseErrorCode(error) === LISTED;
}

/** Who must not be written to. */
@Injectable()
export class SuppressionsService {
  constructor(
    private readonly suppressions: SuppressionsRepository,
    private readonly lookup: SuppressionLookup,
    private readonly clock: Clock,
  ) {}

  /**
   * The strongest reason for each address that blocks a mail of its category, by index into `addresses`.
   * Transactional mail ignores `unsubscribe` entries, and only those.
   */
  async findBlocking(addresses: readonly MailLookup[]): Promise<Map<number, SuppressionReason>> {
    const blocking = new Map<number, SuppressionReason>();
    if (addresses.length === 0) return blocking;
    for (const { index, reason } of await this.lookup.find(addresses, this.clock.now())) {
      if (reason === 'unsubscribe' && addresses[index]?.category === 'transactional') continue;
      const known = blocking.get(index);
      blocking.set(index, (known && strongest([known, reason])) ?? reason);
    }
    return blocking;
  }

  /**
   * Has the caller's transaction fail, with an error that `isListed` knows, when one of the addresses may block its mail. Not
   * every such address does: `findBlocking` tells.
   */
  refuseListed(addresses: readonly MailLookup[], tx: Transaction): void {
    if (addresses.length > 0) this.suppressions.refuseListed(addresses, this.clock.now(), tx);
  }

  /** The strongest reason for which an address is on the list; undefined when it is not. */
  async reasonOf({ organizationId, mode }: ListOwner, email: string): Promise<SuppressionReason | undefined> {
    const address = { organizationId, mode, key: addressKey(email) };
    const found = await this.lookup.find([address], this.clock.now());
    return strongest(found.map(({ reason }) => reason));
  }

  /** Lists addresses within the caller's transaction. */
  suppress(rows: readonly NewSuppression[], tx: Transaction): void {
    if (rows.length > 0) this.suppressions.add(rows, this.clock.now(), tx);
  }

  /** Counts soft bounces within the caller's transaction; an address that has had enough of them is listed for a while. */
  recordSoftBounces(rows: readonly SoftBounce[], tx: Transaction): void {
    if (rows.length > 0) this.suppressions.recordSoftBounces(rows, SOFT_BOUNCE_RULE, this.clock.now(), tx);
  }
}

export {
  SUPPRESSION_REASONS,
  type MailLookup,
  type NewSuppression,
  type SoftBounce,
  type SuppressionReason,
} from './suppression';
