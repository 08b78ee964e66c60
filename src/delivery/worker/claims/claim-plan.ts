import { Tally } from '../../../common/async/holder-turns';
import type { Clock } from '../../../common/clock';
import type { ClaimedDelivery } from '../../ports/delivery';
import type { ReadyFilter } from '../../queue/sql/ready-destinations.sql';
import type { Load } from '../../policy/destinations/destination-bounds';
import { AttemptPace } from './attempt-pace';
import type { GroupRoom } from './claim-quotas';
import type { WorkerSlots } from '../slots/worker-slots';

/**
 * Claims held for each slot beyond those under way: what begins within a second, so that signing never idles and a claim is worth
 * its statement. More would wait here while other workers could take it, and would be held when this one dies.
 */
const AHEAD_PER_SLOT = { least: 1 / 2, most: 2 };
/** For a prompt destination: those under way, and twice as many to follow them. */
const AHEAD_PER_CONNECTION = 3;
/** Prompt destinations that a claim looks up for each tenant that may only begin mail for those: a few microseconds each. */
const MOST_PROVEN = 1_000;
/**
 * Destinations at which nothing can start that a claim names to the database, which passes over them. The members of larger groups
 * are left out when it has found them: named in each claim, 20,000 of them took 55 ms of the event loop (29 November 2026).
 */
const MOST_BLOCKED = 1_000;
const MOST_BLOCKED_OF_GROUP = 32;
/** Part of the claims held that is kept for tenants with new mail while others have filled the rest. */
const KEPT_FOR_NEWCOMERS = 1 / 4;

export interface ClaimPlan {
  /** 0: nothing could start soon. */
  readonly limit: number;
  /** What the database leaves out; the rest of what is blocked has no room (`roomOf`). */
  readonly filter: ReadyFilter;
  /** Groups at which nothing can start. */
  readonly blockedGroups: readonly string[];
  /** Organizations that get nothing, as they hold their share of the worker. */
  readonly full: readonly string[];
}

export interface ClaimPlannerOptions {
  readonly slots: number;
  /** Initial conversations of a new destination; undefined where one hop takes all, so that none bounds a claim. */
  readonly startConcurrency: number | undefined;
}

/** A claim that has not begun; given back with `leave`. */
export interface Expected {
  readonly claim: ClaimedDelivery;
  /** The group that it counts for. */
  readonly key: string;
  readonly isUnproven: boolean;
}

/**
 * Decides how much a claim may take, and from whom: what can start now, and a reserve behind it.
 *
 * - A destination that is unknown, slow or down: as many as may begin now. It has nothing in reserve.
 * - A prompt one: twice its limit in reserve, and nothing more until half of that is used up.
 * - A tenant with its share of unproven destinations under way: only prompt ones, until half of that share is free.
 * - A tenant that holds more than the room left for others: nothing.
 * - When enough waits: what has just come for tenants that have less than an equal part of it, a quarter as much in all.
 *
 * What one tenant has taken beyond its share of unproven destinations will not begin soon, and keeps no other tenant from
 * claiming.
 */
export class ClaimPlanner {
  private readonly byGroup = new Tally();
  private readonly byTenant = new Tally();
  private readonly unprovenByTenant = new Tally();
  private readonly restricted = new Set<string>();
  /** Groups that the last claim could take nothing for. */
  private cut: ReadonlySet<string> = new Set();
  private mayBeMore = false;
  private provenFrom = 0;
  /** Tenants that had enough claims; after a claim that found nothing, theirs are the only ones left. */
  private passedOver: ReadonlySet<string> = new Set();
  private readonly pace: AttemptPace;
  private waiting = 0;

  constructor(
    private readonly slots: WorkerSlots,
    private readonly options: ClaimPlannerOptions,
    clock: Clock,
  ) {
    this.pace = new AttemptPace(clock);
  }

  /** Claims that have not begun. */
  get size(): number {
    return this.waiting;
  }

  expect(claim: ClaimedDelivery): Expected {
    const { destination } = claim;
    const key = this.slots.keyOf(destination);
    const expected = { claim, key, isUnproven: !this.slots.isPromptGroup(key) };
    this.count(expected, 1);
    return expected;
  }

  /** Counts it again where its route has shown another group. */
  regroup(expected: Expected): Expected {
    if (this.slots.keyOf(expected.claim.destination) === expected.key) return expected;
    this.leave(expected);
    return this.expect(expected.claim);
  }

  leave(expected: Expected): void {
    this.count(expected, -1);
  }

  /** Its attempt begins. */
  begin(expected: Expected): void {
    this.pace.begun();
    this.leave(expected);
  }

  /** True when a claim would find room; false until enough has begun to make one worth while. */
  get hasRoom(): boolean {
    return !this.slots.isHeldBack && this.room() > this.ahead() / 2;
  }

  /** Destinations at which nothing can start now, all of them; `all`: the one hop for everything is held back. */
  heldBack(): { readonly all: boolean; readonly destinations: readonly string[] } {
    return {
      all: this.slots.isHeldBack,
      destinations: this.blockedGroups().flatMap((key) => this.slots.membersOf(key)),
    };
  }

  plan(): ClaimPlan {
    const limit = this.hasRoom ? this.room() : 0;
    this.restrictTenants();
    const provenOnly = { organizationIds: [...this.restricted], destinations: this.proven() };
    const blockedGroups = this.blockedGroups();
    return {
      limit,
      filter: { blocked: this.named(blockedGroups), provenOnly },
      blockedGroups,
      full: this.fullTenants(),
    };
  }

  /** What a claim may take for a destination, and for all of its group together. */
  roomOf(destination: string): GroupRoom {
    const key = this.slots.keyOf(destination);
    return { key, limit: this.isBounded ? this.limitOf(this.slots.loadOf(key)) : Infinity };
  }

  /** What a claim may take of those that have come since the last one, when enough waits. */
  planForNewcomers(): ClaimPlan {
    const kept = Math.ceil(this.ahead() * KEPT_FOR_NEWCOMERS);
    const room = this.slots.isHeldBack ? 0 : Math.min(kept, this.room() + kept);
    const plan = this.plan();
    const full = [...this.byTenant.entries()].map(([tenant]) => tenant).filter((tenant) => !this.isNewcomer(tenant));
    return { ...plan, limit: Math.max(0, room), full };
  }

  /** Whether less of a tenant waits than would be its equal part. */
  isNewcomer(tenant: string): boolean {
    return this.byTenant.of(tenant) * this.byTenant.size < this.ahead();
  }

  /** Whether a claim could take more for this tenant; called when an attempt has ended. */
  couldClaim(destination: string): boolean {
    return this.hasRoom && this.roomOf(destination).limit > 0;
  }

  /** Whether the last plan held something back that an attempt for these two may have made room for. */
  wasCut(organizationId: string, destination: string): boolean {
    if (this.mayBeMore || this.restricted.has(organizationId)) return true;
    if (this.cut.has(this.slots.keyOf(destination))) return true;
    return this.passedOver.has(organizationId) && !this.fullTenants().includes(organizationId);
  }

  /** Updates the plan after a claim that took anything: there may be more of the rest. */
  note({ full, blockedGroups }: ClaimPlan, claims: readonly ClaimedDelivery[]): void {
    this.cut = new Set(blockedGroups);
    this.mayBeMore = claims.length > 0;
    this.passedOver = new Set(full);
  }

  /** The same of a claim for newcomers: it did not consider all that there is. */
  noteNewcomers(claims: readonly ClaimedDelivery[]): void {
    this.mayBeMore ||= claims.length > 0;
  }

  private get isBounded(): boolean {
    return this.options.startConcurrency !== undefined;
  }

  /** Groups that differ from a new one, or that something waits for. */
  private groups(): Load[] {
    if (!this.isBounded) return [];
    const loads = new Map(this.slots.loads().map((load) => [load.key, load]));
    for (const [key] of this.byGroup.entries()) if (!loads.has(key)) loads.set(key, this.slots.loadOf(key));
    return [...loads.values()];
  }

  private blockedGroups(): string[] {
    return this.groups()
      .filter((load) => this.limitOf(load) === 0)
      .map(({ key }) => key);
  }

  /** Those of their destinations that a claim names. */
  private named(blockedGroups: readonly string[]): string[] {
    const small = blockedGroups.filter((key) => this.slots.sizeOf(key) <= MOST_BLOCKED_OF_GROUP);
    return small.flatMap((key) => this.slots.membersOf(key)).slice(0, MOST_BLOCKED);
  }

  /** For tenants that get no others. A large receiver has any number of domains: one claim looks up some, the next one the following. */
  private proven(): string[] {
    if (this.restricted.size === 0) return [];
    const groups = this.groups().filter((load) => this.slots.isPromptGroup(load.key) && this.limitOf(load) > 0);
    const membersFrom = (first: number, most: number): string[] => {
      const found: string[] = [];
      let before = 0;
      for (const { key } of groups) {
        found.push(...this.slots.membersOf(key, Math.max(0, first - before), most - found.length));
        before += this.slots.sizeOf(key);
      }
      return found;
    };
    const size = groups.reduce((sum, { key }) => sum + this.slots.sizeOf(key), 0);
    if (size <= MOST_PROVEN) return membersFrom(0, MOST_PROVEN);
    const from = this.provenFrom % size;
    this.provenFrom = from + MOST_PROVEN;
    const found = membersFrom(from, MOST_PROVEN);
    return [...found, ...membersFrom(0, MOST_PROVEN - found.length)];
  }

  private limitOf({ key, limit, active }: Load): number {
    const waiting = this.byGroup.of(key);
    if (!this.slots.isPromptGroup(key)) return Math.max(0, limit - active - waiting);
    return waiting > limit ? 0 : Math.max(0, AHEAD_PER_CONNECTION * limit - active - waiting);
  }

  private restrictTenants(): void {
    const waiting = [...this.unprovenByTenant.entries()].map(([tenant]) => tenant);
    for (const tenant of [...waiting, ...this.slots.unprovenTenants()]) {
      if (this.slots.unprovenRoom(tenant) <= this.unprovenByTenant.of(tenant)) this.restricted.add(tenant);
    }
    for (const tenant of this.restricted) {
      const waits = this.unprovenByTenant.of(tenant);
      // One without any must be seen to wait, for room to be made.
      const hasNone = waits === 0 && !this.slots.hasUnproven(tenant);
      if (hasNone || this.slots.unprovenRoom(tenant, 0.5) > waits) this.restricted.delete(tenant);
    }
  }

  private fullTenants(): string[] {
    const left = this.room() - this.slots.free;
    return [...this.byTenant.entries()]
      .filter(([tenant, count]) => count - this.beyondShare(tenant) > left)
      .map(([tenant]) => tenant);
  }

  /** Room for more claims: what may start now plus the reserve, less what waits and may start. */
  private room(): number {
    let [unproven, mayBegin] = [0, 0];
    for (const [tenant, count] of this.unprovenByTenant.entries()) {
      unproven += count;
      mayBegin += count - this.beyondShare(tenant);
    }
    const beyond = unproven - Math.min(mayBegin, this.slots.unprovenRoomInAll);
    return this.slots.free + this.ahead() - (this.waiting - beyond);
  }

  /** Of a tenant's waiting claims: those that start only once others of its attempts have ended. */
  private beyondShare(tenant: string): number {
    return Math.max(0, this.unprovenByTenant.of(tenant) - this.slots.unprovenRoom(tenant));
  }

  private ahead(): number {
    const { slots } = this.options;
    return Math.ceil(
      Math.min(AHEAD_PER_SLOT.most * slots, Math.max(AHEAD_PER_SLOT.least * slots, this.pace.perSecond)),
    );
  }

  private count({ claim: { organizationId }, key, isUnproven }: Expected, by: 1 | -1): void {
    this.waiting += by;
    this.byGroup.add(key, by);
    this.byTenant.add(organizationId, by);
    if (isUnproven) this.unprovenByTenant.add(organizationId, by);
  }
}
