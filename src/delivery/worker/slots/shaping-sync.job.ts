import { Injectable, Logger, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import { Clock, MINUTE, SECOND } from '../../../common/clock';
import { withoutEncodedAddresses } from '../../../common/erasure/without-addresses';
import { reasonOf } from '../../../common/errors/app-error';
import { newId } from '../../../common/ids';
import { PeriodicJobs } from '../../../common/jobs/periodic-jobs';
import {
  type Bounds,
  DESTINATION_LIMITER_DEFAULTS,
  type ReleaseSignal,
} from '../../policy/destinations/destination-bounds';
import { readReply } from '../../policy/replies/read-reply';
import type { Settlement, SmtpFacts } from '../../ports/outcome';
import { profileOf } from '../../ports/provider-profiles';
import type { Route } from '../../routing/router';
import { type CountedKind, DestinationLog, learnRule } from '../../shaping/destination-log';
import {
  DestinationsRepository,
  type ListedRule,
  type Peers,
  type ReportedGroup,
  type WantedRule,
} from '../../shaping/destinations.repository';
import { KnownPlaces } from '../../shaping/known-places';
import { limitsOf, type OthersActive, type Share, shareOf } from '../../shaping/worker-share';
import { WorkSignal } from '../session/work-signal';
import { WorkerSession } from '../session/worker-session';
import { WorkerSlots } from './worker-slots';

/** All workers apply findings and operators' changes within two of these; 5 s are promised. */
const EVERY_MS = 2 * SECOND;
/** Reads overlap a little: the workers share the database's clock, but their commits take time. */
const OVERLAP_MS = 3 * SECOND;
const FIRST_LOOK_MS = 60 * MINUTE;
const MAX_CAUSE = 500;
/** Of a group that is held back all are reported, as their mail is not counted as waiting for a worker; of others the log's. */
const MAX_MEMBERS = 1_000;

/**
 * Shares this worker's findings about groups of destinations with the others, and applies theirs and operators' changes. Every
 * two seconds it writes rows of its own, reads what others have changed, and divides common limits among the running workers.
 * Once it keeps to its part among them it reports what it has beyond that, and then confirms that it knows them: a worker takes
 * more only after all others have confirmed the same ones. While the database is unavailable the last state applies.
 */
@Injectable()
export class ShapingSync implements OnApplicationBootstrap, OnModuleDestroy {
  private readonly logger = new Logger(ShapingSync.name);
  private readonly log: DestinationLog;
  /** Limits derived from replies since the last time, by group and effect. */
  private readonly learned = new Map<string, WantedRule>();
  /** Reported with something under way, which has to be corrected later. */
  private publishedActive = new Set<string>();
  /** The last report said that the name of the one next hop is not found. */
  private wasHopMissing = false;
  /** Of the groups held back, how many domains have been reported. */
  private reportedMembers: ReadonlyMap<string, number> = new Map();
  /** Groups that a rule is about. */
  private ruled: ReadonlySet<string> = new Set();
  private lookedAtMs = -Infinity;
  private lastSync: Promise<void> = Promise.resolve();
  private readonly places = new KnownPlaces();
  /** The session under which limits have been read. */
  private knownTo: string | undefined;
  /** The session, and the workers that it has confirmed. */
  private confirmed = '';
  /** The rules `resumed` that hold and have been applied. */
  private resumed: ReadonlySet<string> = new Set();

  constructor(
    private readonly destinations: DestinationsRepository,
    private readonly slots: WorkerSlots,
    private readonly session: WorkerSession,
    private readonly signal: WorkSignal,
    private readonly jobs: PeriodicJobs,
    private readonly clock: Clock,
  ) {
    this.log = new DestinationLog(clock);
    // Without it nothing would be limited.
    session.onBegin(async () => {
      await this.sync();
      return this.knownTo === session.id;
    });
  }

  onApplicationBootstrap(): void {
    // A worker whose clock is wrong still has connections, and its part of common limits.
    const run = () => this.sync();
    this.jobs.start({ name: 'share-destinations', everyMs: EVERY_MS, needsNoClock: true, run });
    const remove = () => this.destinations.removeOver();
    this.jobs.startRemoval({ name: 'forget-destinations', everyMs: 10 * MINUTE, run: remove });
  }

  /** Jobs end before the worker has finished what is under way: until its session ends, the others wait for its confirmation. */
  onModuleDestroy(): void {
    const timer = setInterval(() => {
      if (this.session.id === undefined) clearInterval(timer);
      else void this.sync();
    }, EVERY_MS).unref();
  }

  /** An attempt starts. */
  begin(key: string, destination: string, route: Extract<Route, { kind: 'hosts' }>): void {
    this.log.begin(key, destination, route);
  }

  /** An attempt has ended; it still counts as under way. */
  end(key: string, { outcomes }: Settlement, signal: ReleaseSignal): void {
    const { outcome } = outcomes[0];
    const smtp = 'smtp' in outcome ? outcome.smtp : undefined;
    this.log.end(key, countedAs(outcome.kind), smtp?.response);
    if (smtp && !this.slots.isSharedHop && (signal === 'throttled' || signal === 'suspended')) this.learn(key, smtp);
  }

  /** One at a time: else an earlier reading could replace a later one. Never rejects. */
  sync(): Promise<void> {
    this.lastSync = this.lastSync.then(() => this.syncOnce());
    return this.lastSync;
  }

  private async syncOnce(): Promise<void> {
    const { id } = this.session;
    if (id === undefined) return;
    try {
      await this.publish(id);
      const peers = await this.receive(id);
      if (peers) await this.confirm(id, peers);
    } catch (error) {
      this.logger.warn(`What is known of destinations is not shared: ${reasonOf(error)}`);
    }
  }

  private learn(key: string, smtp: SmtpFacts): void {
    const text = (smtp.lines ?? [smtp.response ?? '']).join(' ');
    // A recipient such as `slow-down@…` is quoted, and limits nothing: else any tenant could limit a receiver for all others.
    const { words } = readReply({ phase: smtp.phase, code: smtp.code, text: smtp.lines ?? smtp.response });
    const traffic = { active: this.slots.learned.loadOf(key).active, perMinute: this.log.perMinute(key) };
    const rule = learnRule(words, traffic);
    if (!rule) return;
    const { effect, value, forMs } = rule;
    const cause = withoutEncodedAddresses((smtp.response ?? text).slice(0, MAX_CAUSE));
    this.learned.set(`${key} ${effect}`, {
      id: newId(),
      key,
      source: 'reply',
      effect,
      value,
      cause,
      until: null,
      forMs,
    });
  }

  private async publish(sessionId: string): Promise<void> {
    const { hop } = this.slots;
    const isMissing = hop.fault !== undefined;
    const changes = this.log.drainChanges();
    const keys = new Set([...changes, ...this.publishedActive]);
    if (isMissing || this.wasHopMissing) keys.add(hop.key);
    const members = this.heldBackMembers();
    for (const [key, { length }] of members) if (length > (this.reportedMembers.get(key) ?? 0)) keys.add(key);
    const groups = [...keys].map((key) => this.reportOf(key, members.get(key)));
    const learned = [...this.learned];
    await this.destinations.report(sessionId, groups).catch((error: unknown) => {
      // A group that is paused has no attempt that would make it news again.
      this.log.restoreChanges(changes);
      throw error;
    });
    this.wasHopMissing = isMissing;
    this.reportedMembers = new Map([...members].map(([key, { length }]) => [key, length]));
    this.publishedActive = new Set(groups.filter(({ active }) => active > 0).map(({ key }) => key));
    await this.destinations.writeLearned(
      sessionId,
      learned.map(([, rule]) => rule),
    );
    // What could not be reported is reported the next time, with newer findings.
    for (const [name, rule] of learned) if (this.learned.get(name) === rule) this.learned.delete(name);
  }

  /** The domains of the groups that get less mail than they could, those without an attempt too. */
  private heldBackMembers(): Map<string, readonly string[]> {
    const isHeldBack = (key: string, limit: number): boolean =>
      limit < DESTINATION_LIMITER_DEFAULTS.startConcurrency ||
      this.ruled.has(key) ||
      this.slots.learned.lastChange(key)?.cause !== undefined;
    const groups = this.slots.loads().filter(({ key, limit }) => isHeldBack(key, limit));
    return new Map(groups.map(({ key }) => [key, this.slots.membersOf(key, 0, MAX_MEMBERS)]));
  }

  /** @param members its domains; undefined: those that the log has */
  private reportOf(key: string, members?: readonly string[]): ReportedGroup {
    const { limit } = this.slots.learned.loadOf(key);
    const active = this.slots.heldAt(key);
    const change = this.slots.learned.lastChange(key);
    const known = this.log.factsOf(key);
    const perMinute = this.log.perMinute(key);
    const facts = { key, active, concurrency: limit, perMinute, ...known, domains: members ?? known.domains };
    const fault = key === this.slots.hop.key ? this.slots.hop.fault : undefined;
    // Without the time of a change: the resolvers of other workers may find it.
    if (fault) return { ...facts, ...fault, pauses: 1, changedAgoMs: undefined };
    return {
      ...facts,
      ...{ pauses: change?.pauses ?? 0, pausedForMs: change?.pausedForMs ?? 0, cause: change?.cause },
      changedAgoMs: change?.agoMs,
    };
  }

  /** In this order: a worker that reads the confirmation reads what this one has beyond its part, too. */
  private async confirm(sessionId: string, { ids }: Peers): Promise<void> {
    const known = [sessionId, ...ids].join();
    if (known === this.confirmed) return;
    await this.publish(sessionId);
    await this.destinations.confirmPeers(sessionId, ids);
    this.confirmed = known;
  }

  private async receive(sessionId: string): Promise<Peers | undefined> {
    const nowMs = this.clock.monotonicMs();
    const withinMs = Math.min(FIRST_LOOK_MS, nowMs - this.lookedAtMs + OVERLAP_MS);
    const { changes, peers, rules } = await this.destinations.findShared(sessionId, withinMs);
    for (const { key, concurrency, agoMs, cause, ...pause } of changes) {
      this.slots.learned.adopt(key, { ...pause, limit: concurrency, cause: cause ?? undefined }, agoMs);
    }
    this.lookedAtMs = nowMs;
    if (peers === undefined) return undefined;
    this.resume(rules);
    const share = this.places.see(sessionId, peers);
    const { ids } = peers;
    this.signal.setRank({ workers: ids.length, rank: ids.indexOf(sessionId) });
    const othersActive = await this.othersActive(sessionId, ids, this.limitedKeys(rules));
    this.bound(rules, share, othersActive);
    this.knownTo = sessionId;
    return peers;
  }

  /** By group. */
  private async othersActive(
    sessionId: string,
    ids: readonly string[],
    keys: readonly string[],
  ): Promise<ReadonlyMap<string, OthersActive>> {
    const rows = ids.length > 1 ? await this.destinations.othersActive(sessionId, keys) : [];
    const ranks = new Map(ids.map((id, rank) => [id, rank]));
    const byKey = new Map<string, { rank: number | undefined; active: number }[]>();
    for (const { key, sessionId: other, active } of rows) {
      byKey.set(key, [...(byKey.get(key) ?? []), { rank: ranks.get(other), active }]);
    }
    return byKey;
  }

  /** An operator vouches for a destination that this worker has paused by itself. */
  private resume(rules: readonly ListedRule[]): void {
    const words = rules.filter(({ effect }) => effect === 'resumed');
    for (const { id, key, agoMs } of words) {
      if (this.resumed.has(id)) continue;
      const { limit } = this.slots.learned.loadOf(key);
      this.slots.learned.adopt(key, { pausedForMs: 0, pauses: 0, limit: Math.max(1, limit) }, agoMs);
    }
    this.resumed = new Set(words.map(({ id }) => id));
  }

  /** Groups with a connection limit: by a rule, or by the profile of a destination that this worker has used. */
  private limitedKeys(rules: readonly ListedRule[]): string[] {
    const met = this.slots.loads().filter(({ key }) => profileOf(key)?.maxConnections !== undefined);
    const ruled = rules.filter(({ effect }) => effect === 'max_connections');
    return [...new Set([...ruled, ...met].map(({ key }) => key))];
  }

  private bound(rules: readonly ListedRule[], share: Share, othersActive: ReadonlyMap<string, OthersActive>): void {
    const byKey = new Map<string, ListedRule[]>();
    for (const rule of rules) byKey.set(rule.key, [...(byKey.get(rule.key) ?? []), rule]);
    this.ruled = new Set(byKey.keys());
    const boundsOf = (key: string): Bounds =>
      shareOf(key, limitsOf(key, byKey.get(key) ?? []), share, othersActive.get(key));
    this.slots.setBounds(boundsOf, [...byKey.keys()]);
  }
}

function countedAs(kind: string): CountedKind | undefined {
  switch (kind) {
    case 'sent':
    case 'delivered':
      return 'delivered';
    case 'deferred':
    case 'unknown':
      return 'deferred';
    case 'bounced':
      return 'bounced';
    default:
      return undefined;
  }
}
