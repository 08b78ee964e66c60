import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { Clock } from '../../common/clock';
import type { ClaimedDelivery } from '../ports/delivery';
import { WeightSource } from '../ports/sources';
import { type Shares, TenantTurns } from '../policy/tenant-turns';
import { DeliveryQueueRepository } from '../queue/delivery-queue.repository';
import type { DestinationLimits } from '../queue/sql/claim-deliveries.sql';
import { ClaimPlanner } from './claim-plan';
import { type Called, NONE } from './work-signal';
import { NIL_ID } from '../../common/ids';

const ALPHABET = '0123456789abcdefghijklmnopqrstuvwxyz';
/** Organizations whose position among their destinations is kept; the others start anywhere. */
const MAX_CURSORS = 1_000;
/** Each claim searches for new organizations with work; among thousands that are all held back, it does not. */
const WALK = { mostFound: 32, mostSeen: 512 };
/** Walks and claims of one call that find nothing; then the worker waits for a moment. */
const MAX_TRIES = 20;

/** What the worker can take right now. */
interface Room {
  readonly sessionId: string;
  readonly limit: number;
  readonly blocked: readonly string[];
  readonly limits: DestinationLimits | undefined;
}

/** Claims due work for a session, in turn among organizations. */
@Injectable()
export class Claimer {
  private readonly turns = new TenantTurns();
  private walkedTo = NIL_ID;
  /** The destination that each organization was served last, so that those late in the alphabet have their turn too. */
  private readonly cursors = new LRUCache<string, string>({ max: MAX_CURSORS });

  constructor(
    private readonly queue: DeliveryQueueRepository,
    private readonly weights: WeightSource,
    private readonly planner: ClaimPlanner,
    private readonly clock: Clock,
  ) {}

  /** False: what waits already is enough. */
  get hasRoom(): boolean {
    return this.planner.hasRoom;
  }

  /** Claims what may start. @param called whose new work has been announced @throws UnavailableError */
  async claimNext(sessionId: string, called = NONE): Promise<ClaimedDelivery[]> {
    this.turns.found(called.organizationIds ?? []);
    const plan = this.planner.plan();
    if (plan.limit === 0) return this.claimForNewcomers(sessionId, called);
    const claims = await this.claim(sessionId, plan.limit, plan.blockedDestinations, plan.destinationLimits);
    this.planner.note(plan, claims);
    return claims;
  }

  /** New mail need not wait until half of the claims of others have started. */
  private async claimForNewcomers(sessionId: string, { organizationIds }: Called): Promise<ClaimedDelivery[]> {
    if (organizationIds && ![...organizationIds].some((id) => this.planner.isNewcomer(id))) return [];
    const { limit, blockedDestinations: blocked, destinationLimits: limits } = this.planner.planForNewcomers();
    if (limit === 0 || !this.clock.isReliable) return [];
    const claimed =
      organizationIds === undefined
        ? await this.claim(sessionId, limit, blocked, limits)
        : (await this.claimTurns({ sessionId, limit, blocked, limits })).claimed;
    this.planner.noteNewcomers(claimed);
    return claimed;
  }

  /** Whether so little of an organization's waits that new mail of it goes before the rest of what others have. */
  isNewcomer(organizationId: string): boolean {
    return this.planner.isNewcomer(organizationId);
  }

  /** Claims for organizations that have just called and for no others, beside another claim. @throws UnavailableError */
  async claimOnlyFor(sessionId: string, organizationIds: readonly string[]) {
    const { limit, blockedDestinations: blocked, destinationLimits: limits } = this.planner.planForNewcomers();
    const share = Math.floor(limit / organizationIds.length);
    if (share === 0 || !this.clock.isReliable) return { claims: [], mayBeMore: true };
    this.turns.found(organizationIds);
    const shares = new Map(organizationIds.map((id) => [id, share]));
    const claims = await this.claimShares(shares, { sessionId, limit, blocked, limits });
    this.planner.noteNewcomers(claims);
    const taken = countByOrganization(claims);
    return { claims, mayBeMore: organizationIds.some((id) => (taken.get(id) ?? share) >= share) };
  }

  /** Nothing while the clock is wrong. @throws UnavailableError */
  async claim(
    sessionId: string,
    limit: number,
    blocked: readonly string[],
    limits?: DestinationLimits,
  ): Promise<ClaimedDelivery[]> {
    if (!this.clock.isReliable) return [];
    this.turns.setWeights(await this.weights.weights());
    for (let tries = 0, isRound = false; tries < MAX_TRIES; tries += 1) {
      isRound = (await this.walk(blocked, limits)) || isRound;
      const { claimed, isWithoutTurns } = await this.claimTurns({ sessionId, limit, blocked, limits });
      if (claimed.length > 0 || (isRound && isWithoutTurns)) return claimed;
    }
    return [];
  }

  /** Among those known to have work. */
  private async claimTurns(room: Room): Promise<{ claimed: ClaimedDelivery[]; isWithoutTurns: boolean }> {
    const shares = this.turns.next(room.limit, new Set(room.limits?.full));
    if (shares.size === 0) return { claimed: [], isWithoutTurns: true };
    return { claimed: await this.claimShares(shares, room), isWithoutTurns: false };
  }

  /** Goes on round the organizations; true when it has been round all of them. */
  private async walk(blockedDestinations: readonly string[], limits?: DestinationLimits): Promise<boolean> {
    const { provenOnly } = limits ?? {};
    const walk = { afterOrganizationId: this.walkedTo, blockedDestinations, provenOnly, ...WALK };
    const seen = await this.queue.findReadyTenants(walk);
    this.turns.found(seen.filter(({ hasWork }) => hasWork).map(({ organizationId }) => organizationId));
    const last = seen.at(-1);
    if (last) this.walkedTo = last.organizationId;
    return seen.length < WALK.mostFound && (last === undefined || last.step < WALK.mostSeen);
  }

  private async claimShares(shares: Shares, { sessionId, blocked, limits }: Room): Promise<ClaimedDelivery[]> {
    const now = this.clock.now();
    const claimed = await this.queue.claim({
      sessionId,
      shares: [...shares].map(([organizationId, share]) => ({
        organizationId,
        share,
        cursor: this.cursors.get(organizationId) ?? randomLetter() + randomLetter(),
      })),
      blockedDestinations: blocked,
      destinationLimits: limits,
      bulkRounding: Math.random(),
      now,
    });
    this.turns.took(shares, countByOrganization(claimed));
    for (const { organizationId, destination } of claimed) this.cursors.set(organizationId, destination);
    return claimed;
  }
}

function countByOrganization(claimed: readonly ClaimedDelivery[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { organizationId } of claimed) counts.set(organizationId, (counts.get(organizationId) ?? 0) + 1);
  return counts;
}

function randomLetter(): string {
  return ALPHABET.charAt(Math.floor(Math.random() * ALPHABET.length));
}
