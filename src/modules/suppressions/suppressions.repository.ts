import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { In, IsNull, MoreThan, type Repository } from 'typeorm';
import { NIL_ID } from '../../common/ids';
import type { Tenant } from '../../common/tenant';
import { Database } from '../../database/pool/database.service';
import type { Transaction } from '../../database/statements/transaction';
import {
  type ListedSuppression,
  MissingDomain,
  SoftBounces,
  Suppression,
  SuppressionHashKey,
} from './suppression.entity';
import {
  addSuppressions,
  recordMissingDomains,
  recordSoftBounces,
  type SoftBounceRule,
} from './sql/automatic-suppressions.sql';
import {
  deleteExpired,
  type ExpiringTable,
  findSuppressed,
  insertSuppressions,
  refuseListed,
  type SuppressedAddress,
} from './sql/suppression-entries.sql';
import type {
  AddressLookup,
  EncryptedHashKey,
  MailLookup,
  MissingDomainLookup,
  NewSuppression,
  SoftBounce,
  SuppressionFilter,
  SuppressionReason,
} from './suppression';

/** Hash keys that are read at a time. */
const PAGE = 100;

const LISTED_AT = `to_char(s.suppressed_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`;

/** The suppression lists, the soft bounces that lead to entries, and the keys under which erased addresses are hashed. */
@Injectable()
export class SuppressionsRepository {
  constructor(
    private readonly database: Database,
    @InjectRepository(Suppression) private readonly suppressions: Repository<Suppression>,
    @InjectRepository(SuppressionHashKey) private readonly hashKeys: Repository<SuppressionHashKey>,
  ) {}

  /** Every entry in force at `now`, by index into `addresses`; and the keys of organizations with hashed entries. */
  async findSuppressed(
    addresses: readonly AddressLookup[],
    now: Date,
  ): Promise<{ found: SuppressedAddress[]; hashKeys: EncryptedHashKey[] }> {
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

  recordMissingDomains(rows: readonly MissingDomainLookup[], windowDays: number, tx: Transaction): void {
    tx.write(recordMissingDomains(rows, windowDays));
  }

  /** Entries in force at `now`, newest first, with their total number, which counts those before `after` too. */
  async page(owner: Tenant, filter: SuppressionFilter, now: Date): Promise<[ListedSuppression[], number]> {
    const { reason, keys, limit, offset, after } = filter;
    const { organizationId, mode } = owner;
    const named = { organizationId, mode, ...(reason && { reason }), ...(keys && { addressKey: In([...keys]) }) };
    const inForce = '(s.expiresAt is null or s.expiresAt > :now)';
    const all = this.suppressions.createQueryBuilder('s').where(named).andWhere(inForce, { now });
    const page = all.clone().addSelect(LISTED_AT, 'listedAt').orderBy({ 's.suppressedAt': 'DESC', 's.id': 'DESC' });
    if (after) page.andWhere('(s.suppressedAt, s.id) < (:at, :id)', after);
    const { entities, raw } = await page.limit(limit).offset(offset).getRawAndEntities<{ listedAt: string }>();
    const listed = entities.map((entry, index) => ({ ...entry, listedAt: raw[index]?.listedAt ?? '' }));
    return [listed, await all.getCount()];
  }

  /** Returns the ids of entries that are new or replace an expired one. */
  async insert(owner: Tenant, entries: readonly Suppression[], now: Date, tx: Transaction): Promise<Set<string>> {
    return new Set((await tx.run(insertSuppressions(owner, entries, now))).map(({ id }) => id));
  }

  /** Reasons of the entries that never expire, under any of the forms of one address. */
  async reasonsOf(names: readonly AddressLookup[]): Promise<SuppressionReason[]> {
    const where = names.map(({ organizationId, mode, key: addressKey }) => ({
      ...{ organizationId, mode, addressKey, expiresAt: IsNull() },
    }));
    return (await this.suppressions.find({ select: { reason: true }, where })).map(({ reason }) => reason);
  }

  /** Locks and returns every entry under these names of an address, expired ones too. */
  async lockAll(names: readonly AddressLookup[], tx: Transaction): Promise<Suppression[]> {
    const entries: Suppression[] = [];
    for (const { organizationId, mode, key: addressKey } of names) {
      const where = { organizationId, mode, addressKey };
      const lock = { mode: 'pessimistic_write' } as const;
      entries.push(...(await tx.manager.find(Suppression, { where, order: { reason: 'ASC' }, lock })));
    }
    return entries;
  }

  /** Deletes an address's entries by reason, so that an entry that was added meanwhile stays. */
  async delete(
    { organizationId, mode, key: addressKey }: AddressLookup,
    reasons: readonly SuppressionReason[],
    tx: Transaction,
  ): Promise<void> {
    await tx.manager.delete(Suppression, { organizationId, mode, addressKey, reason: In([...reasons]) });
  }

  /** Replaces an entry's address by its hash. */
  async hash(
    { organizationId, mode, addressKey, reason }: Suppression,
    hashed: Pick<Suppression, 'addressKey' | 'email'>,
    tx: Transaction,
  ): Promise<void> {
    const entry = { organizationId, mode, addressKey, reason };
    await tx.manager.update(Suppression, entry, { ...hashed, notes: null });
  }

  async deleteSoftBounces({ organizationId, mode, key: addressKey }: AddressLookup, tx: Transaction): Promise<void> {
    await tx.manager.delete(SoftBounces, { organizationId, mode, addressKey });
  }

  async deleteMissingDomain({ organizationId, mode, key: addressKey }: AddressLookup, tx: Transaction): Promise<void> {
    await tx.manager.delete(MissingDomain, { organizationId, mode, addressKey });
  }

  /** Deletes rows whose effect ended before a time; returns their number. */
  async deleteExpired(table: ExpiringTable, before: Date, limit: number): Promise<number> {
    return (await this.database.run(deleteExpired(table, before, limit))).length;
  }

  findHashKey(organizationId: string, tx?: Transaction): Promise<SuppressionHashKey | null> {
    const keys = tx?.manager.getRepository(SuppressionHashKey) ?? this.hashKeys;
    return keys.findOneBy({ organizationId });
  }

  /** Returns the organization's key: the stored one if there is one already, else `key`. */
  async findOrInsertHashKey(key: SuppressionHashKey, tx: Transaction): Promise<SuppressionHashKey> {
    await tx.manager.createQueryBuilder().insert().into(SuppressionHashKey).values(key).orIgnore().execute();
    return tx.manager.findOneByOrFail(SuppressionHashKey, { organizationId: key.organizationId });
  }

  /** The keys of all organizations, for a change of the master key. */
  async *allHashKeys(): AsyncGenerator<SuppressionHashKey> {
    for (let after = NIL_ID; ;) {
      const page = await this.hashKeys.find({
        where: { organizationId: MoreThan(after) },
        order: { organizationId: 'ASC' },
        take: PAGE,
      });
      const last = page.at(-1);
      if (!last) return;
      yield* page;
      after = last.organizationId;
    }
  }

  /** Returns false when the key has changed since it was read. */
  async replaceHashKey({ organizationId, secret }: EncryptedHashKey, encrypted: Buffer): Promise<boolean> {
    return (await this.hashKeys.update({ organizationId, secret }, { secret: encrypted })).affected === 1;
  }
}
