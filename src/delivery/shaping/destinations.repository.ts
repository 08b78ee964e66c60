import { Injectable } from '@nestjs/common';
import { In } from 'typeorm';
import { Database } from '../../database/database.service';
import type { Statement } from '../../database/statement';
import type { Transaction } from '../../database/transaction';
import { DestinationRule, type RuleEffect } from './shaping.entity';
import {
  endSuspensions,
  type HeldListing,
  type HeldSuspension,
  listChecks,
  type Listing,
  type ListingState,
  listSuspensions,
  newestAge,
  removeSuspensions,
  replaceChecks,
  type Suspension,
  writeSuspensions,
  type WrittenSuspension,
} from './sql/egress-addresses.sql';
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
import {
  addSessions,
  duePolicies,
  type DueReport,
  dueReports,
  type KnownPolicy,
  noteFailure,
  readPolicies,
  readSessions,
  removeOldSessions,
  removePolicies,
  removeSessions,
  type SessionCount,
  type StoredPolicy,
  storePolicy,
  takeFetch,
} from './sql/tls.sql';
import {
  type AddressProgress,
  changeWarmUp,
  listAddresses,
  listTodaysVolumes,
  registerAddresses,
  removeOldVolumes,
  returnVolume,
  type TakenVolume,
  takeVolume,
  type TodaysVolume,
  type UnusedVolume,
} from './sql/warm-up.sql';

/** What workers know together. */
interface SharedState {
  /** By other workers themselves, the oldest first. */
  readonly changes: readonly PeerChange[];
  /** Undefined for a session that ended. */
  readonly rank: Rank | undefined;
  /** Those that hold. */
  readonly rules: readonly ListedRule[];
}

/** The findings of all workers about groups of destinations, their encryption, and refusals of our addresses. */
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

  /** @param also in the same transaction: with those that did not hold before */
  async writeSuspensions(
    suspensions: readonly Suspension[],
    also: (begun: readonly WrittenSuspension[], tx: Transaction) => Promise<void>,
  ): Promise<void> {
    if (suspensions.length === 0) return;
    await this.database.transaction(async (tx) => {
      const written = await tx.run(writeSuspensions(suspensions));
      await also(
        written.filter(({ isNew }) => isNew),
        tx,
      );
    });
  }

  /** Returns the groups of those that held. @param key undefined: of all receivers */
  async endSuspensions(address: string, key: string | undefined, tx: Transaction): Promise<string[]> {
    return (await tx.run(endSuspensions(address, key))).map((row) => row.key);
  }

  /** Those that hold. */
  listSuspensions(): Promise<HeldSuspension[]> {
    return this.database.run(listSuspensions());
  }

  /** Returns the number of removed rows. */
  async removeSuspensions(): Promise<number> {
    return (await this.database.run(removeSuspensions())).length;
  }

  /** Stores the addresses of the pools. @param addresses may be empty: later ones are new */
  async registerAddresses(addresses: readonly { address: string; isWarm: boolean }[]): Promise<void> {
    await this.database.run(registerAddresses(addresses));
  }

  /** How far they are with their warm-up. Days are UTC, by the database's clock. */
  listAddresses(): Promise<AddressProgress[]> {
    return this.database.run(listAddresses());
  }

  /** Of the busiest providers of each address that warms up. */
  listTodaysVolumes(): Promise<TodaysVolume[]> {
    return this.database.run(listTodaysVolumes());
  }

  /** Undefined for an address that is not registered. @param schedule daily volumes */
  async takeVolume(
    address: string,
    provider: string,
    wanted: number,
    schedule: readonly number[],
  ): Promise<TakenVolume | undefined> {
    const [, , taken] = await this.database.runAll(takeVolume(address, provider, wanted, schedule));
    return taken?.[0];
  }

  async returnVolume(unused: readonly UnusedVolume[]): Promise<void> {
    if (unused.length > 0) await this.database.run(returnVolume(unused));
  }

  /** @param isWarm false: restart with day 1 */
  async changeWarmUp(address: string, isWarm: boolean, tx: Transaction): Promise<void> {
    await tx.run(changeWarmUp(address, isWarm));
  }

  /** Returns the number of removed rows. */
  async removeOldVolumes(): Promise<number> {
    const [row] = await this.database.run(removeOldVolumes());
    return row?.removed ?? 0;
  }

  /** Returns the number of removed rows. */
  async removeOver(): Promise<number> {
    const [row] = await this.database.run(removeOver());
    return row?.removed ?? 0;
  }

  /**
   * Replaces the results of block lists for our addresses; a listing stays while its list is `unknown`.
   * @param listings each address and list once
   */
  async replaceListings(listings: readonly Listing[]): Promise<void> {
    await this.database.run(replaceChecks(listings));
  }

  listListings(): Promise<HeldListing[]> {
    return this.database.run(listChecks());
  }

  /** Of the newest check; undefined before the first. */
  async newestListingAgeMs(): Promise<number | undefined> {
    const [row] = await this.database.run(newestAge());
    return row?.ageMs ?? undefined;
  }

  /** MTA-STS: the stored policies of domains, and that they are in use. */
  readPolicies(domains: readonly string[]): Promise<KnownPolicy[]> {
    return this.database.run(readPolicies(domains));
  }

  /** True for the one process that has to fetch the policy, and to report the result within that time. */
  async takePolicyFetch(domain: string, policyId: string, seconds: number): Promise<boolean> {
    return (await this.database.run(takeFetch(domain, policyId, seconds))).length > 0;
  }

  async storePolicy(domain: string, policyId: string, policy: StoredPolicy, lifeSeconds: number): Promise<void> {
    await this.database.run(storePolicy(domain, policyId, policy, lifeSeconds));
  }

  async notePolicyFailure(domain: string, failure: Parameters<typeof noteFailure>[1]): Promise<void> {
    await this.database.run(noteFailure(domain, failure));
  }

  /** Domains whose policy has to be fetched again. */
  async duePolicies(limit: number): Promise<string[]> {
    return (await this.database.run(duePolicies(limit))).map(({ domain }) => domain);
  }

  /** Returns the number of removed rows. */
  async removePolicies(): Promise<number> {
    return (await this.database.run(removePolicies())).length;
  }

  /** Of reports on TLS: adds to what has been counted today. @param counts each kind once */
  async addTlsSessions(counts: readonly SessionCount[]): Promise<void> {
    if (counts.length > 0) await this.database.run(addSessions(counts));
  }

  /** Of days that are over. */
  dueTlsReports(limit: number): Promise<DueReport[]> {
    return this.database.run(dueReports(limit));
  }

  /** The largest counts of one report. */
  readTlsSessions(report: DueReport): Promise<SessionCount[]> {
    return this.database.run(readSessions(report));
  }

  async removeTlsSessions(report: DueReport): Promise<void> {
    await this.database.run(removeSessions(report));
  }

  /** Returns the number of removed rows. */
  async removeOldTlsSessions(): Promise<number> {
    return (await this.database.run(removeOldSessions())).length;
  }
}

export type {
  AddressProgress,
  DueReport,
  KnownPolicy,
  SessionCount,
  Rank,
  FoldedGroup,
  HeldListing,
  HeldSuspension,
  ListedRule,
  Listing,
  ListingState,
  PeerChange,
  ReportedGroup,
  Suspension,
  TodaysVolume,
  UnusedVolume,
  WantedRule,
  WrittenSuspension,
};
