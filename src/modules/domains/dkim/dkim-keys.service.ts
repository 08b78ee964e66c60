import { Injectable } from '@nestjs/common';
import { Clock, HOUR } from '../../../common/clock';
import { Database } from '../../../database/database.service';
import type { Transaction } from '../../../database/transaction';
import { AuditService, SYSTEM } from '../../../audit/audit.service';
import type { DkimKey } from './dkim-key.entity';
import { DkimKeysRepository } from './dkim-keys.repository';
import { domainEvent } from '../domain-event';

/** How long the old key stays published, from the rotation. */
const OVERLAP_MS = 48 * HOUR;
/** The least that the old key stays published after its last signature: the new record may be seen late. */
const LEAST_AFTERLIFE_MS = 24 * HOUR;
const EXPIRED_BATCH = 500;

/**
 * The DKIM keys of domains after their making. `pending`: waits until its record has been seen. `active`: signs; there is
 * always exactly one. `retiring`: signs no more, and is published until `expiresAt` for mail that is under way.
 */
@Injectable()
export class DkimKeysService {
  constructor(
    private readonly keys: DkimKeysRepository,
    private readonly audit: AuditService,
    private readonly database: Database,
    private readonly clock: Clock,
  ) {}

  /** The keys whose records are to be found in DNS, oldest first. */
  async published(organizationId: string, domainId: string, tx?: Transaction): Promise<DkimKey[]> {
    return this.withoutExpired(await this.keys.listOf(organizationId, [domainId], tx));
  }

  /** The same for several domains, by domain id. */
  async publishedOf(organizationId: string, domainIds: readonly string[]): Promise<Map<string, DkimKey[]>> {
    const keys = this.withoutExpired(await this.keys.listOf(organizationId, domainIds));
    return new Map(domainIds.map((id) => [id, keys.filter(({ domainId }) => domainId === id)]));
  }

  /** Stores the key that is to take over. An expired one goes, as it may have the same selector. */
  async addPending(key: DkimKey, tx: Transaction): Promise<void> {
    await this.keys.deleteExpiredOf(key, key.createdAt, tx);
    await this.keys.insert(key, tx);
  }

  /**
   * The record of a pending key has been seen: from now on it signs, and the one before it retires. Without effect on a
   * key that is not pending. The caller records it, as it knows who looked.
   */
  async activate(organizationId: string, domainId: string, selector: string, tx: Transaction): Promise<void> {
    const keys = await this.keys.listOf(organizationId, [domainId], tx);
    const pending = keys.find((key) => key.selector === selector && key.state === 'pending');
    if (!pending) return;
    const expiresAt = this.expiryOfOlder(pending);
    // In this order: a domain has one active key at any time.
    for (const older of keys.filter(({ state }) => state === 'active')) {
      await this.keys.changeState(older, { state: 'retiring', expiresAt }, tx);
    }
    await this.keys.changeState(pending, { state: 'active', expiresAt: null }, tx);
  }

  /** Removes retiring keys whose time is over, of every organization. Answers how many. */
  async removeExpired(): Promise<number> {
    for (let removed = 0; ;) {
      const batch = await this.database.transaction((tx) => this.removeBatch(tx));
      removed += batch;
      if (batch < EXPIRED_BATCH) return removed;
    }
  }

  private async removeBatch(tx: Transaction): Promise<number> {
    const expired = await this.keys.deleteExpired(this.clock.now(), EXPIRED_BATCH, tx);
    await this.audit.record(
      expired.map(({ organizationId, domainId: id, selector }) =>
        domainEvent('dkim.removed', { organizationId, id }, SYSTEM, { selector }),
      ),
      tx,
    );
    return expired.length;
  }

  private expiryOfOlder({ createdAt: rotatedAt }: DkimKey): Date {
    return new Date(Math.max(rotatedAt.getTime() + OVERLAP_MS, this.clock.now().getTime() + LEAST_AFTERLIFE_MS));
  }

  private withoutExpired(keys: readonly DkimKey[]): DkimKey[] {
    const now = this.clock.now();
    return keys.filter((key) => !isExpired(key, now));
  }
}

function isExpired({ state, expiresAt }: Pick<DkimKey, 'state' | 'expiresAt'>, now: Date): boolean {
  return state === 'retiring' && expiresAt !== null && expiresAt <= now;
}
