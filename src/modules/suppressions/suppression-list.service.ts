import { Injectable } from '@nestjs/common';
import { FairLimit } from '../../common/async/fair-turns';
import { Clock } from '../../common/clock';
import { DiskSpace } from '../../common/disk-space';
import { AppError, NotFoundError } from '../../common/errors/app-error';
import { newId } from '../../common/ids';
import { addressKey } from '../../common/mail-address';
import { clientGone, type Tenant } from '../../common/tenant';
import { Database } from '../../database/pool/database.service';
import type { Transaction } from '../../database/statements/transaction';
import { type AuditRecord, AuditService, OPERATOR } from '../../audit/audit.service';
import { AddressHashing } from './address-hashing.service';
import {
  type AddressLookup,
  alreadyListed,
  formsOf,
  isOwnReason,
  notRemovable,
  strongest,
  type SuppressionFilter,
  type SuppressionReason,
} from './suppression';
import type { ListedSuppression, Suppression } from './suppression.entity';
import { SuppressionsRepository } from './suppressions.repository';

export interface NewEntry {
  /** Normal form, as `parseAddress` returns it. */
  readonly email: string;
  readonly reason: SuppressionReason;
  readonly notes?: string;
}

/** A row with its notes and its indexes, roughly. */
const ENTRY_BYTES = 512;

/**
 * The suppression list of an organization and mode, for its owner and the operator.
 *
 * An address has one entry for each reason. An entry is in force until it expires, or until it is removed: the owner may remove
 * the reasons that the owner may add; only the operator removes those of the receiving side (bounces, complaints).
 */
@Injectable()
export class SuppressionListService {
  /**
   * At a time two transactions of up to 1,000 entries, and one of an organization: six imports of one made another's sends seven times
   * as slow. What waits is as large as the bodies that it came in, which have a budget of their own.
   */
  private readonly additions = new FairLimit(2, { atATime: 1, waiting: Infinity });

  constructor(
    private readonly suppressions: SuppressionsRepository,
    private readonly hashing: AddressHashing,
    private readonly audit: AuditService,
    private readonly database: Database,
    private readonly clock: Clock,
    private readonly disk: DiskSpace,
  ) {}

  /** Entries in force, newest first, with their total number. */
  async page(
    owner: Tenant,
    { key, ...filter }: Omit<SuppressionFilter, 'keys'> & { readonly key?: string | undefined },
  ): Promise<[ListedSuppression[], number]> {
    const names = key === undefined ? undefined : await this.hashing.namesOf({ ...owner, key });
    return this.suppressions.page(owner, { ...filter, keys: names?.map((name) => name.key) }, this.clock.now());
  }

  /** @throws AppError suppression_exists */
  async add(owner: Tenant, entry: NewEntry, actor: string = OPERATOR): Promise<Suppression> {
    const candidate = toSuppression(owner, entry, this.clock.now());
    await this.database.transaction(async (tx) => {
      const added = await this.suppressions.insert(owner, [candidate], candidate.suppressedAt, tx);
      if (!added.has(candidate.id)) throw alreadyListed(entry.reason);
      await this.audit.record([suppressionEvent('suppression.added', candidate, actor)], tx);
    });
    return candidate;
  }

  /**
   * Adds up to 1,000 entries independently; an error among `entries` is returned as it is.
   * @returns in the order given: the entry, or the error for which it was refused
   * @throws UnavailableError, DiskShareError
   */
  async addMany(
    owner: Tenant,
    items: readonly (NewEntry | AppError)[],
    actor: string,
  ): Promise<(Suppression | AppError)[]> {
    const now = this.clock.now();
    const candidates = items.map((item) => (item instanceof AppError ? item : toSuppression(owner, item, now)));
    const intake = { bytes: items.length * ENTRY_BYTES, holder: owner.organizationId };
    const added = await this.disk.take(intake, () => this.insertMany(owner, firstOfEach(candidates), actor, now));
    return candidates.map((candidate) =>
      candidate instanceof AppError || added.has(candidate.id) ? candidate : alreadyListed(candidate.reason),
    );
  }

  /**
   * Removes an address from the list.
   * @throws NotFoundError; AppError suppression_not_removable when one of its entries can only be removed by the operator
   */
  async remove(owner: Tenant, email: string, actor: string): Promise<void> {
    await this.database.transaction((tx) =>
      this.removeWhere({ ...owner, key: addressKey(email) }, isOwnReason, actor, tx),
    );
  }

  /** Removes an address from the list whatever the reason, and its soft bounces. @throws NotFoundError */
  async removeByOperator(owner: Tenant, email: string): Promise<SuppressionReason[]> {
    const address = { ...owner, key: addressKey(email) };
    return this.database.transaction(async (tx) => {
      const removed = await this.removeWhere(address, () => true, OPERATOR, tx);
      for (const form of formsOf(address)) {
        await this.suppressions.deleteSoftBounces(form, tx);
        await this.suppressions.deleteMissingDomain(form, tx);
      }
      return removed;
    });
  }

  private async insertMany(owner: Tenant, entries: readonly Suppression[], actor: string, now: Date) {
    if (entries.length === 0) return new Set<string>();
    const insert = async (tx: Transaction): Promise<Set<string>> => {
      const ids = await this.suppressions.insert(owner, entries, now, tx);
      if (ids.size > 0) await this.audit.record([importEvent(owner, ids.size, actor)], tx);
      return ids;
    };
    // What a client that has gone wanted to add can be sent again: entries that are there count as duplicates.
    return this.additions.run(owner.organizationId, () => this.database.transaction(insert), clientGone());
  }

  private async removeWhere(
    address: AddressLookup,
    isRemovable: (reason: SuppressionReason) => boolean,
    actor: string,
    tx: Transaction,
  ): Promise<SuppressionReason[]> {
    const entries = await this.lockInForce(address, tx);
    if (entries.length === 0) throw new NotFoundError('Suppression');
    const reasons = entries.map(({ reason }) => reason);
    const staying = strongest(reasons.filter((reason) => !isRemovable(reason)));
    if (staying) throw notRemovable(staying);
    for (const { addressKey: key, reason } of entries) {
      await this.suppressions.delete({ ...address, key }, [reason], tx);
    }
    await this.audit.record(
      entries.map((entry) => suppressionEvent('suppression.removed', entry, actor)),
      tx,
    );
    return reasons;
  }

  /** Locks the entries in force of an address, or of its hash when it has been erased. */
  private async lockInForce(address: AddressLookup, tx: Transaction): Promise<Suppression[]> {
    const now = this.clock.now();
    const entries = await this.suppressions.lockAll(await this.hashing.namesOf(address, tx), tx);
    return entries.filter(({ expiresAt }) => expiresAt === null || expiresAt > now);
  }
}

function toSuppression(owner: Tenant, { email, reason, notes }: NewEntry, suppressedAt: Date): Suppression {
  const { organizationId, mode } = owner;
  const entry = { organizationId, mode, addressKey: addressKey(email), reason, id: newId(), email };
  return { ...entry, source: 'api', notes: notes ?? null, suppressedAt, expiresAt: null };
}

/** The first entry for each address and reason: one statement cannot write a row twice. */
function firstOfEach(candidates: readonly (Suppression | AppError)[]): Suppression[] {
  const first = new Map<string, Suppression>();
  for (const entry of candidates) {
    if (entry instanceof AppError) continue;
    const identity = `${entry.reason} ${entry.addressKey}`;
    if (!first.has(identity)) first.set(identity, entry);
  }
  return [...first.values()];
}

/** The audit record of a change to one entry, without the address, which is personal data. */
function suppressionEvent(
  action: 'suppression.added' | 'suppression.removed',
  { organizationId, mode, id, reason }: Suppression,
  actor: string,
): AuditRecord {
  return { organizationId, actor, action, targetType: 'suppression', targetId: id, data: { mode, reason } };
}

/** The audit record of a batch. */
function importEvent({ organizationId, mode }: Tenant, added: number, actor: string): AuditRecord {
  const target = { targetType: 'organization', targetId: organizationId };
  return { organizationId, actor, action: 'suppression.imported', ...target, data: { mode, added } };
}
