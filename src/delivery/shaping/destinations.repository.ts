import { Injectable } from '@nestjs/common';
import { In } from 'typeorm';
import { Database } from '../../database/pool/database.service';
import type { Statement } from '../../database/statements/statement';
import type { Transaction } from '../../database/statements/transaction';
import { DestinationRule, type RuleEffect } from './shaping.entity';
import {
  type Rank,
  findChanges,
  findRank,
  type FoldedGroup,
  foldGroups,
  foldHeldBack,
  type ListedRule,
  listRules,
  type PeerChange,
  removeOver,
  type ReportedGroup,
  reportGroups,
  sumOthersActive,
  type WantedRule,
  writeRules,
} from './sql/destinations.sql';

/** What workers know together. */
interface SharedState {
  /** By other workers themselves, the oldest first. */
  readonly changes: readonly PeerChange[];
  /** Undefined for a session that ended. */
  readonly rank: Rank | undefined;
  /** Those that hold. */
  readonly rules: readonly ListedRule[];
}

/** The findings of all workers about groups of destinations, and the rules for them. */
@Injectable()
export class DestinationsRepository {
  constructor(private readonly database: Database) {}

  async report(sessionId: string, groups: readonly ReportedGroup[]): Promise<void> {
    if (groups.length > 0) await this.database.run(reportGroups(sessionId, groups));
  }

  /** What a worker needs to know of the others, and of the operator's rules; in one round trip. */
  async findShared(sessionId: string, withinMs: number): Promise<SharedState> {
    const statements: Statement<unknown>[] = [findChanges(sessionId, withinMs), findRank(sessionId), listRules()];
    const [changes, [rank], rules] = (await this.database.runAll(statements)) as [PeerChange[], Rank[], ListedRule[]];
    return { changes, rank, rules };
  }

  /** Conversations of other running workers, by group; groups without any are left out. */
  async othersActive(sessionId: string, keys: readonly string[]): Promise<ReadonlyMap<string, number>> {
    if (keys.length === 0) return new Map();
    const rows = await this.database.run(sumOthersActive(sessionId, keys));
    return new Map(rows.map(({ key, active }) => [key, active]));
  }

  /** Those that hold. */
  listRules(): Promise<ListedRule[]> {
    return this.database.run(listRules());
  }

  async writeRules(rules: readonly WantedRule[], tx?: Transaction): Promise<void> {
    if (rules.length > 0) await (tx ?? this.database).run(writeRules(rules));
  }

  /** The operator's of a group. */
  async removeEffects(key: string, effects: readonly RuleEffect[], tx: Transaction): Promise<void> {
    await tx.manager.delete(DestinationRule, { key, source: 'operator', effect: In(effects) });
  }

  /** False when the group has no such rule. */
  async removeRule(key: string, id: string, tx: Transaction): Promise<boolean> {
    const { affected } = await tx.manager.delete(DestinationRule, { key, id });
    return (affected ?? 0) > 0;
  }

  /** @param key undefined for all, the busiest first */
  fold(key: string | undefined, limit: number): Promise<FoldedGroup[]> {
    return this.database.run(foldGroups(key, limit));
  }

  /** Those that workers hold back, and those of the keys. */
  foldHeldBack(keys: readonly string[], limit: number): Promise<FoldedGroup[]> {
    return this.database.run(foldHeldBack(keys, limit));
  }

  /** Returns the number of removed rows. */
  async removeOver(): Promise<number> {
    const [row] = await this.database.run(removeOver());
    return row?.removed ?? 0;
  }
}

export type { Rank, FoldedGroup, ListedRule, PeerChange, ReportedGroup, WantedRule };
