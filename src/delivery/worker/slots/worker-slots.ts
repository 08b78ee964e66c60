import { Tally } from '../../../common/async/holder-turns';
import { SECOND, type Clock } from '../../../common/clock';
import {
  type Bounds,
  DestinationBounds,
  type DestinationLimiterOptions,
  type DestinationState,
  type Load,
  type ReleaseSignal,
} from '../../policy/destinations/destination-bounds';
import { DestinationLimiter } from '../../policy/destinations/destination-limiter';
import type { Route } from '../../routing/router';
import { DestinationGroups } from './destination-groups';
import { RecentPeaks } from './recent-peaks';
import { SharedHop } from './shared-hop';

type Hosts = Extract<Route, { kind: 'hosts' }>;

export type WorkerSlotsOptions = Pick<DestinationLimiterOptions, 'slots'> &
  Partial<DestinationLimiterOptions> & {
    /** One next hop takes everything, so that it is what is shaped, not the recipient's domain. */
    readonly sharedHop: boolean;
    readonly hop?: string | undefined;
    readonly connectionsPerHost: number;
  };

/** Whose attempt it is, and where it goes. */
export interface Candidate {
  readonly organizationId: string;
  readonly destination: string;
}

/** A slot that is held; given back once. */
export interface Ticket extends Candidate {
  /** The group that it counts for. */
  readonly key: string;
  readonly host: string;
  readonly isUnproven: boolean;
}

/** What prevents an attempt; `slots`: no other can start either. */
export type Refusal = 'slots' | 'destination' | 'host' | 'tenant';

/** How many slots a tenant may hold per free slot: nine leave it nine tenths when it is alone, and room for the next. */
const SHARE_PER_FREE = 9;
/** The same for destinations that are unknown, slow or down: a quarter of all slots when it is alone. */
const UNPROVEN_PER_FREE = 1 / 3;
/** The rest is for tenants that hold none of these yet, and the last of it for prompt destinations, whatever else hangs. */
const MOST_UNPROVEN = { next: 0.75, first: 0.95 };
/** When this host itself runs out (descriptors, ports), the worker does less of what it did, and nothing for a moment. */
const BACK_OFF = 0.75;
const BACK_OFF_MS = SECOND;
const RECOVERY_PER_SUCCESS = 1 / 8;

/**
 * The connections that this worker may have at a time, and who may have the next one. **Waiting holds no slot**: a slot is
 * taken at the moment in which an attempt begins, with all that it needs, and given back when it ends.
 *
 *   claimed ──► waiting (holds nothing) ──nothing refuses it──► under way (holds one slot) ──► ended
 *                  └── cannot begin within a moment ──► given back to the queue, for this worker or another
 *
 * What may refuse it:
 * - `slots`: all are taken, or this host has just run out of descriptors or ports;
 * - `destination`: the limit of its group, which is all destinations with the same mail exchangers: learned
 *   (`DestinationLimiter`), or set (`DestinationBounds`), or a quarter of all slots while others need some;
 * - `host`: the mail exchanger, behind however many domains, has all the connections that it gets;
 * - `tenant`: its share. It is based on free slots, so it needs no list of possible other tenants: a tenant holds at most nine times
 *   the free slots, two busy tenants end up with half each, and there is always one left for a newcomer. Destinations that have not proven
 *   to be prompt count a second time, against a third of the free slots: one tenant's tarpits get a quarter of the worker, all never everything.
 */
export class WorkerSlots {
  readonly hop: SharedHop;
  private readonly limiter: DestinationLimiter;
  private readonly bounds: DestinationBounds;
  private readonly groups = new DestinationGroups();
  private readonly peaks: RecentPeaks;
  private readonly tenants = new Tally();
  private readonly unproven = new Tally();
  private readonly hosts = new Tally();
  private most: number;
  private taken = 0;
  private takenUnproven = 0;
  private backOffUntilMs = -Infinity;

  constructor(
    private readonly clock: Clock,
    private readonly options: WorkerSlotsOptions,
  ) {
    this.limiter = new DestinationLimiter(clock, options);
    this.bounds = new DestinationBounds(clock);
    this.peaks = new RecentPeaks(clock);
    this.most = options.slots;
    this.hop = new SharedHop(clock, options.hop);
  }

  /** Attempts under way. */
  get active(): number {
    return this.taken;
  }

  /** Slots that attempts may still take. */
  get free(): number {
    return this.isBackingOff ? 0 : Math.max(0, Math.floor(this.most) - this.taken);
  }

  /** Undefined when the attempt may start now, at one of the hosts. */
  refusalOf({ organizationId, destination }: Candidate, hosts: readonly string[]): Refusal | undefined {
    if (this.free === 0) return 'slots';
    const key = this.keyOf(destination);
    if (this.roomAt(key) <= 0) return this.options.sharedHop ? 'slots' : 'destination';
    if (this.hostWithRoom(hosts) === undefined) return this.options.sharedHop ? 'slots' : 'host';
    if (!this.hasShare(organizationId)) return 'tenant';
    return this.isPromptGroup(key) || this.unprovenRoom(organizationId) > 0 ? undefined : 'tenant';
  }

  /** Whether the tenant may start any more attempts. */
  hasShare(organizationId: string): boolean {
    return this.tenants.of(organizationId) < Math.max(1, this.free * SHARE_PER_FREE);
  }

  /** Takes a slot for an attempt that nothing refuses. */
  take({ organizationId, destination }: Candidate, hosts: readonly string[]): Ticket {
    const key = this.keyOf(destination);
    const host = this.hostWithRoom(hosts) ?? hosts[0] ?? key;
    const isUnproven = !this.isPromptGroup(key);
    this.limiter.tryAcquire(key, this.othersAreActive(key));
    this.bounds.take(key);
    this.taken += 1;
    this.tenants.add(organizationId);
    this.hosts.add(host);
    if (isUnproven) this.countUnproven(organizationId, 1);
    return { organizationId, destination, key, host, isUnproven };
  }

  give({ organizationId, key, host, isUnproven }: Ticket, signal: ReleaseSignal, cause?: string): void {
    this.taken -= 1;
    this.tenants.add(organizationId, -1);
    this.hosts.add(host, -1);
    if (isUnproven) this.countUnproven(organizationId, -1);
    this.peaks.note(key, this.limiter.loadOf(key).active);
    this.limiter.release(key, signal, cause);
    if (signal === 'success') this.most = Math.min(this.options.slots, this.most + RECOVERY_PER_SUCCESS);
  }

  /** This host has run out of something that connections take: no destination's fault, and more of them would not help. */
  backOff(): void {
    if (this.isBackingOff) return;
    this.most = Math.max(1, Math.floor(Math.min(this.most, this.taken) * BACK_OFF));
    this.pause();
  }

  /** Nothing begins for a moment, and nothing is claimed for the one next hop. */
  pause(): void {
    this.backOffUntilMs = this.clock.monotonicMs() + BACK_OFF_MS;
  }

  /** True for a group that takes our mail without long silences; an operator-chosen hop counts as one. */
  isPromptGroup(key: string): boolean {
    return this.options.sharedHop || this.limiter.isPrompt(key);
  }

  /**
   * How many more attempts at destinations that are not prompt the tenant may start: each of them uses free slots.
   * @param part of its share
   */
  unprovenRoom(organizationId: string, part = 1): number {
    const under = this.unproven.of(organizationId);
    const perFree = UNPROVEN_PER_FREE * part;
    const share = Math.ceil((this.free * perFree - under) / (1 + perFree));
    const first = under === 0 ? Math.min(1, this.roomForUnproven(MOST_UNPROVEN.first)) : 0;
    return Math.max(first, Math.min(share, this.roomForUnproven(MOST_UNPROVEN.next)), 0);
  }

  /** How many more of all tenants. */
  get unprovenRoomInAll(): number {
    return Math.max(0, Math.min(this.free, this.roomForUnproven(MOST_UNPROVEN.first)));
  }

  /** Whether the tenant has attempts at destinations that are not prompt. */
  hasUnproven(organizationId: string): boolean {
    return this.unproven.of(organizationId) > 0;
  }

  /** Tenants with attempts at destinations that are not prompt. */
  unprovenTenants(): string[] {
    return [...this.unproven.entries()].map(([organizationId]) => organizationId);
  }

  /** True when the one next hop is held back. */
  get isHeldBack(): boolean {
    if (!this.options.sharedHop) return false;
    return (
      this.isBackingOff ||
      this.limiter.pausedUntil(this.hop.key) !== undefined ||
      this.bounds.limitOf(this.hop.key) === 0
    );
  }

  /** Limit and load of the groups that differ from a new one; none where one hop takes everything. */
  loads(): Load[] {
    if (this.options.sharedHop) return [];
    const keys = new Set([...this.limiter.loads().map(({ destination }) => destination), ...this.bounds.keys()]);
    return [...keys].map((key) => this.loadOf(key));
  }

  /** @param key a group's */
  loadOf(key: string): Load {
    const { limit, active } = this.limiter.loadOf(key);
    return { key, active, limit: Math.min(limit, active + this.bounds.roomFor(key, active), this.bounds.limitOf(key)) };
  }

  /** The group of a destination, if known to this worker: before any look-up itself. */
  keyOf(destination: string): string {
    return this.options.sharedHop ? this.hop.key : this.groups.keyOf(destination);
  }

  /** The destinations of a group, which are tens of thousands of a large receiver: none of what each claim does reads them all. */
  membersOf(key: string, from?: number, most?: number): string[] {
    return this.groups.membersOf(key, from, most);
  }

  /** How many those are. */
  sizeOf(key: string): number {
    return this.groups.sizeOf(key);
  }

  /** One hop takes everything. */
  get isSharedHop(): boolean {
    return this.options.sharedHop;
  }

  /** Assigns a destination to the group of its route. */
  learnGroup(destination: string, { group = destination, hosts }: Pick<Hosts, 'group' | 'hosts'>): void {
    if (this.options.sharedHop) this.hop.noteFound(hosts[0]?.hostName);
    else this.groups.learn(destination, group);
  }

  /** Limits from outside, in the place of all that held before. @param bounded groups that have some */
  setBounds(boundsOf: (key: string) => Bounds | undefined, bounded: readonly string[]): void {
    this.bounds.replace(boundsOf, bounded);
  }

  /** Connections to the group are limited from outside. */
  isLimited(key: string): boolean {
    return this.bounds.limitOf(key) < Infinity;
  }

  /** Conversations with a group, and those that ended so lately that their connections may be open where they are limited. */
  heldAt(key: string): number {
    const { active } = this.limiter.loadOf(key);
    return this.isLimited(key) ? Math.max(active, this.peaks.of(key)) : active;
  }

  messagesPerConnection(key: string): number | undefined {
    return this.bounds.messagesPerConnection(key);
  }

  /** Findings about groups: those of this worker for others, and theirs for this one. */
  get learned(): Pick<DestinationLimiter, 'lastChange' | 'adopt' | 'loadOf'> {
    return this.limiter;
  }

  describe(): DestinationState[] {
    return this.limiter.describe();
  }

  private roomForUnproven(part: number): number {
    return Math.max(1, Math.floor(this.options.slots * part)) - this.takenUnproven;
  }

  private countUnproven(organizationId: string, by: 1 | -1): void {
    this.takenUnproven += by;
    this.unproven.add(organizationId, by);
  }

  private hostWithRoom(hosts: readonly string[]): string | undefined {
    return hosts.find((host) => this.hosts.of(host) < this.options.connectionsPerHost);
  }

  private roomAt(key: string): number {
    const room = this.limiter.roomFor(key, this.othersAreActive(key));
    return Math.min(room, this.bounds.roomFor(key, this.limiter.loadOf(key).active));
  }

  private othersAreActive(key: string): boolean {
    return !this.options.sharedHop && this.taken > this.limiter.loadOf(key).active;
  }

  private get isBackingOff(): boolean {
    return this.clock.monotonicMs() < this.backOffUntilMs;
  }
}
