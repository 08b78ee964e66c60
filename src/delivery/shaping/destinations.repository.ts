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

  /** Conversations and attempts of other running workers at these groups, as they have reported them. */
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

  /** Limits that this worker has met, for all workers: the connections that the others have are added, or half of what they send. */
  async writeLearned(sessionId: string, rules: readonly WantedRule[]): Promise<void> {
    const active = new Tally();
    const perMinute = new Tally();
    const keys = [...new Set(rules.map(({ key }) => key))];
    for (const other of await this.othersActive(sessionId, keys)) {
      active.add(other.key, other.active);
      perMinute.add(other.key, other.perMinute);
    }
    const ofOthers = ({ effect, key }: WantedRule): number =>
      effect === 'max_connections' ? active.of(key) : Math.floor(perMinute.of(key) / 2);
    await this.writeRules(rules.map((rule) => ({ ...rule, value: Math.max(1, (rule.value ?? 0) + ofOthers(rule)) })));
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
