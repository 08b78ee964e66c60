import { Injectable } from '@nestjs/common';
import { Clock } from '../../../common/clock';
import type { ClaimedDelivery } from '../../ports/delivery';
import { WeightSource } from '../../ports/sources';
import { type Shares, TenantTurns } from '../../policy/turns/tenant-turns';
import { DeliveryQueueRepository } from '../../queue/delivery-queue.repository';
import { type ClaimPlan, ClaimPlanner } from './claim-plan';
import { quotasOf, type TenantQuotas } from './claim-quotas';
import { ClaimWindows, type Look, NOT_LOOKED, OPEN } from './claim-windows';
import { type Called, NONE } from '../session/work-signal';
import { NIL_ID } from '../../../common/ids';

/** Each claim searches for new organizations with work; among thousands that are all held back, it does not. */
const WALK = { mostFound: 32, mostSeen: 512 };
/** Walks and claims of one call that find nothing; then the worker waits for a moment. */
const MAX_TRIES = 20;
/** Destinations that a call reads, in which nothing may begin; the next one goes on behind them. */
const MOST_READ = 8_192;
/** Of one try: each divides among others what those seen before may not take. */
const MOST_LOOKS = 4;

/** What the worker can take right now; by default of anyone and for any destination. */
export type Room = Pick<ClaimPlan, 'limit'> & Partial<ClaimPlan> & { readonly only?: ReadonlySet<string> };

/** Organizations of which nothing may begin, as the tries of one call have seen. */
type SeenThrough = Set<string>;

interface Found extends Look, TenantQuotas {
  readonly organizationId: string;
}

/**
 * Claims due work for a session, in turn among organizations. Whoever claims, a claim is three steps (`claimTurns`): whose turn it
 * is, which of their destinations have work, and how much of each may be taken.
 *
 *   loop (`claimNext`) ──room──► walk for organizations with work, claim among all, again until something is found
 *                      └──enough waits──► newcomers: among those that are known; after no call, walk for them too
 *   beside it (`claimOnlyFor`) ──► newcomers that have just called, and nobody else
 */
@Injectable()
export class Claimer {
  private readonly turns = new TenantTurns();
  private walkedTo = NIL_ID;
  private readonly windows: ClaimWindows;

  constructor(
    private readonly queue: DeliveryQueueRepository,
    private readonly weights: WeightSource,
    private readonly planner: ClaimPlanner,
    private readonly clock: Clock,
  ) {
    this.windows = new ClaimWindows(queue);
  }

  /** False: what waits already is enough. */
  get hasRoom(): boolean {
    return this.planner.hasRoom;
  }

  /** Claims what may start. @param called whose new work has been announced @throws UnavailableError */
  async claimNext(sessionId: string, called = NONE): Promise<ClaimedDelivery[]> {
    this.turns.found(called.organizationIds ?? []);
    const plan = this.planner.plan();
    if (plan.limit === 0) return this.claimForNewcomers(sessionId, called);
    const claims = await this.claim(sessionId, plan);
    this.planner.note(plan, claims);
    return claims;
  }

  /** New mail need not wait until half of the claims of others have started. */
  private async claimForNewcomers(sessionId: string, { organizationIds }: Called): Promise<ClaimedDelivery[]> {
    if (organizationIds && ![...organizationIds].some((id) => this.planner.isNewcomer(id))) return [];
    const plan = this.planner.planForNewcomers();
    if (plan.limit === 0 || !this.clock.isReliable) return [];
    const claimed = organizationIds ? await this.claimTurns(sessionId, plan) : await this.claim(sessionId, plan);
    this.planner.noteNewcomers(claimed ?? []);
    return claimed ?? [];
  }

  /** Whether so little of an organization's waits that new mail of it goes before the rest of what others have. */
  isNewcomer(organizationId: string): boolean {
    return this.planner.isNewcomer(organizationId);
  }

  /** Claims for organizations that have just called and for no others, beside another claim. @throws UnavailableError */
  async claimOnlyFor(sessionId: string, organizationIds: readonly string[]) {
    const plan = this.planner.planForNewcomers();
    const share = Math.floor(plan.limit / organizationIds.length);
    if (share === 0 || !this.clock.isReliable) return { claims: [], mayBeMore: true };
    this.turns.found(organizationIds);
    const claims = (await this.claimTurns(sessionId, { ...plan, only: new Set(organizationIds) })) ?? [];
    this.planner.noteNewcomers(claims);
    const taken = countByOrganization(claims);
    return { claims, mayBeMore: organizationIds.some((id) => (taken.get(id) ?? share) >= share) };
  }

  /** Claims for whoever has work, in turn. Nothing while the clock is wrong. @throws UnavailableError */
  async claim(sessionId: string, room: Room): Promise<ClaimedDelivery[]> {
    if (!this.clock.isReliable) return [];
    this.turns.setWeights(await this.weights.weights());
    const seenThrough: SeenThrough = new Set();
    const mostRead = this.windows.read + MOST_READ;
    for (let tries = 0, isRound = false; tries < MAX_TRIES && this.windows.read < mostRead; tries += 1) {
      isRound = (await this.walk(room.filter)) || isRound;
      const claimed = await this.claimTurns(sessionId, room, seenThrough);
      if (claimed === undefined ? isRound : claimed.length > 0) return claimed ?? [];
    }
    return [];
  }

  /** Among those known to have work; undefined: it is nobody's turn. */
  private async claimTurns(
    sessionId: string,
    { limit, filter, full = [], only }: Room,
    seenThrough: SeenThrough = new Set(),
  ) {
    const passed = new Set([...full, ...seenThrough]);
    const looks = new Map<string, Look>();
    for (let looked = 1; ; looked += 1) {
      const shares = this.turns.next(limit, passed, only);
      if (shares.size === 0) return looked === 1 ? undefined : [];
      await this.windows.look([...shares.keys()], looks, filter);
      const found = [...shares].map(([id, share]) => this.quotasOf(id, share, looks));
      const without = found.filter(({ quotas }) => quotas.length === 0);
      if (without.length === 0 || looked === MOST_LOOKS) return this.claimQuotas(sessionId, shares, found, seenThrough);
      // What would have been theirs is for the others.
      for (const one of without) passed.add(one.organizationId);
      this.noteLooks(without, seenThrough);
      this.turns.took(new Map(without.map(({ organizationId }) => [organizationId, limit])), new Map());
    }
  }

  /** Goes on round the organizations; true when it has been round all of them. */
  private async walk(filter = OPEN): Promise<boolean> {
    const seen = await this.queue.findReadyTenants({ afterOrganizationId: this.walkedTo, filter, ...WALK });
    this.turns.found(seen.filter(({ hasWork }) => hasWork).map(({ organizationId }) => organizationId));
    const last = seen.at(-1);
    if (last) this.walkedTo = last.organizationId;
    return seen.length < WALK.mostFound && (last === undefined || last.step < WALK.mostSeen);
  }

  private quotasOf(organizationId: string, share: number, looks: ReadonlyMap<string, Look>): Found {
    const { window, destinations } = looks.get(organizationId) ?? NOT_LOOKED;
    const quotas = quotasOf(organizationId, share, destinations, (destination) => this.planner.roomOf(destination));
    return { organizationId, window, destinations, ...quotas };
  }

  private async claimQuotas(sessionId: string, shares: Shares, found: readonly Found[], seenThrough?: SeenThrough) {
    const quotas = found.flatMap((one) => one.quotas);
    const terms = { bulkRounding: Math.random(), now: this.clock.now() };
    const claimed = quotas.length > 0 ? await this.queue.claim({ sessionId, quotas, ...terms }) : [];
    this.noteLooks(found, seenThrough);
    this.turns.took(shares, countByOrganization(claimed));
    return claimed;
  }

  /** Where the next claim looks, and whose destinations have all been seen without any that may take mail. */
  private noteLooks(found: readonly Found[], seenThrough?: SeenThrough): void {
    for (const one of found) {
      const hasMore = this.windows.moveOn(one.organizationId, one, one.quotas.at(-1)?.destination, one.wantsMore);
      if (!hasMore) seenThrough?.add(one.organizationId);
    }
  }
}

function countByOrganization(claimed: readonly ClaimedDelivery[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { organizationId } of claimed) counts.set(organizationId, (counts.get(organizationId) ?? 0) + 1);
  return counts;
}
