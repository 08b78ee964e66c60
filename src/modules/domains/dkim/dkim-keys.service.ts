import { Injectable } from '@nestjs/common';
import { AuditService, SYSTEM } from '../../../audit/audit.service';
import { Clock, HOUR } from '../../../common/clock';
import { AppError, NotFoundError } from '../../../common/errors/app-error';
import { Database } from '../../../database/pool/database.service';
import type { Transaction } from '../../../database/statements/transaction';
import { domainEvent } from '../registry/domain-transitions.service';
import { DomainsRepository } from '../registry/domains.repository';
import type { DkimKey } from './dkim-key.entity';
import { DkimKeyGenerator, type DkimKeyPair } from './dkim-keyring';
import { DkimKeysRepository } from './dkim-keys.repository';

/** How long the old key stays published, from the rotation. */
const OVERLAP_MS = 48 * HOUR;
/** The old key stays published at least this long after its last signature: the new record may be found late. */
const LEAST_AFTERLIFE_MS = 24 * HOUR;
const EXPIRED_BATCH = 500;

type Owner = Pick<DkimKey, 'organizationId' | 'domainId'>;

/**
 * The DKIM keys of domains. `pending`: waits until its record is found in DNS. `active`: signs; there is always exactly
 * one. `retiring`: no longer signs, and stays published until `expiresAt` for mail that is still on its way.
 */
@Injectable()
export class DkimKeysService {
  constructor(
    private readonly keys: DkimKeysRepository,
    private readonly domains: DomainsRepository,
    private readonly generator: DkimKeyGenerator,
    private readonly audit: AuditService,
    private readonly database: Database,
    private readonly clock: Clock,
  ) {}

  /** The keys whose records must be in DNS, oldest first. */
  async published(organizationId: string, domainId: string, tx?: Transaction): Promise<DkimKey[]> {
    return this.withoutExpired(await this.keys.listOf(organizationId, [domainId], tx));
  }

  /** The same for several domains, by domain id. */
  async publishedOf(organizationId: string, domainIds: readonly string[]): Promise<Map<string, DkimKey[]>> {
    const keys = this.withoutExpired(await this.keys.listOf(organizationId, domainIds));
    return new Map(domainIds.map((id) => [id, keys.filter(({ domainId }) => domainId === id)]));
  }

  /** Generates the first key of a new domain; `insert` stores it. */
  async makeFirst(owner: Owner): Promise<DkimKey> {
    return this.generator.first(await this.generator.generate(owner.organizationId), owner);
  }

  /** Stores the key of a domain within the transaction that adds it. */
  async insert(key: DkimKey, tx: Transaction): Promise<void> {
    await this.keys.insert(key, tx);
  }

  /** Deletes the keys of a domain within the transaction that removes it. */
  async deleteOf(owner: Owner, tx: Transaction): Promise<void> {
    await this.keys.deleteOf(owner, tx);
  }

  /**
   * Gives a domain a new key, which signs as soon as its record is found in DNS. Until then the older one signs, however
   * long that takes: a rotation never leaves mail unsigned.
   * @throws NotFoundError, AppError dkim_rotation_in_progress
   */
  async rotate(organizationId: string, domainId: string, actor: string): Promise<void> {
    // A first check before the expensive part; the same check under the lock decides.
    const published = await this.published(organizationId, domainId);
    // Every domain has a key.
    if (published.length === 0) throw new NotFoundError('Domain');
    refuseWhileRotating(published);
    const pair = await this.generator.generate(organizationId);
    await this.database.transaction(async (tx) => {
      const { selector } = await this.addSuccessor({ organizationId, domainId }, pair, tx);
      const domain = { organizationId, id: domainId };
      await this.audit.record([domainEvent('dkim.rotated', domain, actor, { selector })], tx);
    });
  }

  /**
   * Makes a pending key, whose record was found, the active one; the previous one retires. No effect on a key that is not
   * pending. The caller writes the audit entry, since it knows the actor.
   */
  async activate(organizationId: string, domainId: string, selector: string, tx: Transaction): Promise<void> {
    const keys = await this.keys.listOf(organizationId, [domainId], tx);
    const pending = keys.find((key) => key.selector === selector && key.state === 'pending');
    if (!pending) return;
    const expiresAt = this.expiryOfOlder(pending);
    // In this order, because a unique index allows one active key per domain.
    for (const older of keys.filter(({ state }) => state === 'active')) {
      await this.keys.changeState(older, { state: 'retiring', expiresAt }, tx);
    }
    await this.keys.changeState(pending, { state: 'active', expiresAt: null }, tx);
  }

  /** Deletes expired keys of all organizations; returns their number. */
  async removeExpired(): Promise<number> {
    for (let removed = 0; ;) {
      const batch = await this.database.transaction((tx) => this.removeBatch(tx));
      removed += batch;
      if (batch < EXPIRED_BATCH) return removed;
    }
  }

  private async addSuccessor(
    { organizationId, domainId }: Owner,
    pair: DkimKeyPair,
    tx: Transaction,
  ): Promise<DkimKey> {
    if (!(await this.domains.lock(organizationId, domainId, tx))) throw new NotFoundError('Domain');
    const published = await this.published(organizationId, domainId, tx);
    refuseWhileRotating(published);
    const key = this.generator.successor(pair, { organizationId, domainId }, published);
    if (!key) throw inProgress('The other selector is still taken');
    const { selector, createdAt } = key;
    // An expired key may have the same selector.
    await this.keys.deleteExpiredOf(key, createdAt, tx);
    await this.keys.insert(key, tx);
    // The next check of the records is due at once.
    const change = { dkimSelector: selector, nextCheckAt: createdAt, updatedAt: createdAt };
    await this.domains.update({ organizationId, id: domainId }, change, tx);
    return key;
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

function refuseWhileRotating(published: readonly DkimKey[]): void {
  const unfinished = published.find(({ state }) => state !== 'active');
  if (!unfinished) return;
  const { selector, expiresAt } = unfinished;
  if (!expiresAt) throw inProgress(`The record of the key ${selector} has not been seen in DNS yet`);
  throw inProgress(`The previous key ${selector} stays valid until ${expiresAt.toISOString()}`);
}

function inProgress(message: string): AppError {
  return new AppError('dkim_rotation_in_progress', message);
}
