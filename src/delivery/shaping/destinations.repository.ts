import { Injectable } from '@nestjs/common';
import { In } from 'typeorm';
import { Tally } from '../../common/async/holder-turns';
import { Database } from '../../database/pool/database.service';
import type { Statement } from '../../database/statements/statement';
import type { Transaction } from '../../database/statements/transaction';
import { DestinationRule, type RuleEffect } from './shaping.entity';
import {
  findChanges,
  type FoldedGroup,
  foldGroups,
  foldHeldBack,
  type ListedRule,
  listRules,
  type PeerChange,
  removeOver,
  type ReportedGroup,
  reportGroups,
  type WantedRule,
  writeRules,
} from './sql/destinations.sql';
import { type ActiveOf, confirmPeers, findOthersActive, findPeers, type Peers } from './sql/peers.sql';

/** What workers know together. */
interface SharedState {
  /** By other workers themselves, the oldest first. */
  readonly changes: readonly PeerChange[];
  /** Undefined for a session that ended. */
  readonly peers: Peers | undefined;
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
    const statements: Statement<unknown>[] = [findChanges(sessionId, withinMs), findPeers(sessionId), listRules()];
    const [changes, [peers], rules] = (await this.database.runAll(statements)) as [PeerChange[], Peers[], ListedRule[]];
    return { changes, peers, rules };
  }

  /** Conversations of other running workers at these groups, as they have reported them. */
  async othersActive(sessionId: string, keys: readonly string[]): Promise<ActiveOf[]> {
    return keys.length === 0 ? [] : this.database.run(findOthersActive(sessionId, keys));
  }

  /** The worker keeps to its part among these, and what it has beyond that is reported. */
  async confirmPeers(sessionId: string, ids: readonly string[]): Promise<void> {
    await this.database.run(confirmPeers(sessionId, ids));
  }

  /** Those that hold. */
  listRules(): Promise<ListedRule[]> {
    return this.database.run(listRules());
  }

  /** Limits that this worker has met, for all workers: of connections, those that the others have are added. */
  async writeLearned(sessionId: string, rules: readonly WantedRule[]): Promise<void> {
    const isOfConnections = ({ effect }: WantedRule): boolean => effect === 'max_connections';
    const active = new Tally();
    const keys = rules.filter(isOfConnections).map(({ key }) => key);
    for (const other of await this.othersActive(sessionId, keys)) active.add(other.key, other.active);
    const forAll = ({ key, value }: WantedRule): number => Math.max(1, (value ?? 0) + active.of(key));
    await this.writeRules(rules.map((rule) => (isOfConnections(rule) ? { ...rule, value: forAll(rule) } : rule)));
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

export type { ActiveOf, FoldedGroup, ListedRule, PeerChange, Peers, ReportedGroup, WantedRule };
