import { Tally } from '../../common/async/holder-turns';
import { type Clock, SECOND } from '../../common/clock';
import type { ClaimedDelivery } from '../ports/delivery';
import type { DestinationLimits } from '../queue/sql/claim-deliveries.sql';
import type { Load } from '../policy/destination-bounds';
import type { WorkerSlots } from './worker-slots';

/**
 * Claims held for each slot beyond those under way: what begins within a second, so that signing never idles and a claim is worth
 * its statement. More would wait here while other workers could take it, and would be held when this one dies.
 */
const AHEAD_PER_SLOT = { least: 1 / 2, most: 2 };
/** For a prompt destination: those under way, and twice as many to follow them. */
const AHEAD_PER_CONNECTION = 3;
/** Prompt destinations that a claim looks up for each tenant that may only begin mail for those: a few microseconds each. */
const MOST_PROVEN = 1_000;
/** Part of the claims held that is kept for tenants with new mail while others have filled the rest. */
const KEPT_FOR_NEWCOMERS = 1 / 4;

export interface ClaimPlan {
  /** 0: nothing could start soon. */
  readonly limit: number;
  readonly blockedDestinations: readonly string[];
  readonly destinationLimits: Required<DestinationLimits>;
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

/** Attempts that begin in a second. */
class Pace {
  private sinceMs = -Infinity;
  private count = 0;
  private previous = 0;

  constructor(private readonly clock: Clock) {}

  begun(): void {
    this.turn();
    this.count += 1;
  }

  get perSecond(): number {
    this.turn();
    return Math.max(this.count, this.previous);
  }

  private turn(): void {
    const nowMs = this.clock.monotonicMs();
    const elapsedMs = nowMs - this.sinceMs;
    if (elapsedMs < SECOND) return;
    this.previous = elapsedMs < 2 * SECOND ? this.count : 0;
    this.count = 0;
    this.sinceMs = nowMs;
  }
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
  /** Destinations that the last claim could take nothing for. */
  private readonly cut = new Set<string>();
  private mayBeMore = false;
  private provenFrom = 0;
  /** Tenants that had enough claims; after a claim that found nothing, theirs are the only ones left. */
  private passedOver: ReadonlySet<string> = new Set();
  private readonly pace: Pace;
  private waiting = 0;

  constructor(
    private readonly slots: WorkerSlots,
    private readonly options: ClaimPlannerOptions,
    clock: Clock,
  ) {
    this.pace = new Pace(clock);
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

  /** Destinations at which nothing can start now; `all`: the one hop for everything is held back. */
  heldBack(): { readonly all: boolean; readonly destinations: readonly string[] } {
    const { known } = this.destinations();
    return {
      all: this.slots.isHeldBack,
      destinations: known.filter(({ limit }) => limit === 0).map(({ destination }) => destination),
    };
  }

  plan(): ClaimPlan {
    const limit = this.hasRoom ? this.room() : 0;
    const { known, proven } = this.destinations();
    this.restrictTenants();
    const provenOnly = { organizationIds: [...this.restricted], destinations: proven };
    const destinationLimits = { fresh: this.options.startConcurrency, known, provenOnly, full: this.fullTenants() };
    const blockedDestinations = known.filter((one) => one.limit === 0).map(({ destination }) => destination);
    return { limit, blockedDestinations, destinationLimits };
  }

  /** What a claim may take of those that have come since the last one, when enough waits. */
  planForNewcomers(): ClaimPlan {
    const kept = Math.ceil(this.ahead() * KEPT_FOR_NEWCOMERS);
    const room = this.slots.isHeldBack ? 0 : Math.min(kept, this.room() + kept);
    const plan = this.plan();
    const full = [...this.byTenant.entries()].map(([tenant]) => tenant).filter((tenant) => !this.isNewcomer(tenant));
    return { ...plan, limit: Math.max(0, room), destinationLimits: { ...plan.destinationLimits, full } };
  }

  /** Whether less of a tenant waits than would be its equal part. */
  isNewcomer(tenant: string): boolean {
    return this.byTenant.of(tenant) * this.byTenant.size < this.ahead();
  }

  /** Whether a claim could take more for this tenant; called when an attempt has ended. */
  couldClaim(destination: string): boolean {
    if (!this.hasRoom) return false;
    if (this.options.startConcurrency === undefined) return true;
    return this.limitOf(this.slots.boundOf(this.slots.keyOf(destination))) > 0;
  }

  /** Whether the last plan held something back that an attempt for these two may have made room for. */
  wasCut(organizationId: string, destination: string): boolean {
    if (this.mayBeMore || this.restricted.has(organizationId) || this.cut.has(destination)) return true;
    return this.passedOver.has(organizationId) && !this.fullTenants().includes(organizationId);
  }

  /** Updates the plan after a claim that took anything: there may be more of the rest. */
  note({ destinationLimits: { known, full } }: ClaimPlan, claims: readonly ClaimedDelivery[]): void {
    this.cut.clear();
    for (const { destination, limit } of known) if (limit === 0) this.cut.add(destination);
    this.mayBeMore = claims.length > 0;
    this.passedOver = new Set(full);
  }

  /** The same of a claim for newcomers: it did not consider all that there is. */
  noteNewcomers(claims: readonly ClaimedDelivery[]): void {
    this.mayBeMore ||= claims.length > 0;
  }

  private destinations() {
    const { startConcurrency } = this.options;
    if (startConcurrency === undefined) return { known: [], proven: [] };
    const loads = new Map(this.slots.loads().map((load) => [load.key, load]));
    for (const [key] of this.byGroup.entries()) if (!loads.has(key)) loads.set(key, this.slots.loadOf(key));
    const groups = [...loads.values()].map((load) => ({ ...load, limit: this.limitOf(load) }));
    const known = groups.flatMap(({ destinations, limit }) =>
      destinations.map((destination) => ({ destination, limit })),
    );
    const proven = groups.filter(({ key, limit }) => limit > 0 && this.slots.isPromptGroup(key));
    return { known, proven: this.nextOf(proven.flatMap(({ destinations }) => destinations)) };
  }

  /** A large receiver takes mail for any number of domains: one claim looks up some, the next one the following. */
  private nextOf(proven: string[]): string[] {
    if (proven.length <= MOST_PROVEN) return proven;
    const from = this.provenFrom % proven.length;
    this.provenFrom = from + MOST_PROVEN;
    return [...proven, ...proven].slice(from, from + MOST_PROVEN);
  }

  private limitOf({ key, limit, active }: Omit<Load, 'destinations'>): number {
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
