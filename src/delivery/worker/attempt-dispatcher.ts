import { Injectable } from '@nestjs/common';
import { Clock, MINUTE, SECOND } from '../../common/clock';
import type { ClaimedDelivery } from '../ports/delivery';
import type { Route, Unroutable } from '../routing/router';
import { Conversation } from '../smtp/conversation/smtp-connection';
import { type AttemptResult, AttemptService, RELEASED } from './attempts/attempt.service';
import { ClaimPlanner, type Expected } from './claims/claim-plan';
import type { PreparedMessage } from '../compose/message-composer';
import { SilentAttempts } from './silent-attempts';
import { type Hosts, SmtpTransmitter } from './attempts/smtp-transmitter';
import { type Taken, type Waiting, WaitingRoom } from './waiting-room';
import { WorkSignal } from './session/work-signal';
import { type Refusal, type Ticket, WorkerSlots } from './slots/worker-slots';

/** A claim that could not start in this time is given back; large mail may wait for room in memory a little longer. */
const MOMENT_MS = 5 * SECOND;
const LARGE_MOMENT_MS = 30 * SECOND;
/** While room is kept for it: others' attempts end within this time, or nearly all of them do. */
const NEXT_LARGE_MOMENT_MS = 5 * MINUTE;

/** Why something waits; `turn`: nothing is in its way but those before it. */
export type WaitReason = Refusal | 'bytes' | 'turn';

export const WAIT_REASONS: readonly WaitReason[] = ['slots', 'destination', 'host', 'tenant', 'bytes', 'turn'];

/** Obstacles that other mail does not have: bytes are not kept for mail that could not use them. */
const BESIDE_BYTES: ReadonlySet<WaitReason> = new Set(['destination', 'host', 'tenant']);

interface Ready extends Waiting {
  readonly message: PreparedMessage;
  readonly route: Hosts;
  readonly dnsMs: number;
  readonly expected: Expected;
  readonly resolve: (result: AttemptResult) => void;
}

/**
 * Starts attempts as soon as nothing refuses them: a slot (`WorkerSlots`) and room in memory (`ByteBudget`) are taken in the
 * same moment, so that nothing that holds the one waits for the other.
 *
 *   entered ──its route is known──► ready ──► attempt ──► ended
 *      └── no route ──► ended         └── a moment has passed, or the worker stops ──► given back
 */
@Injectable()
export class AttemptDispatcher {
  private readonly room = new WaitingRoom<Ready>();
  private readonly underWay = new SilentAttempts();
  /** Large mail that waits for nothing but bytes, which are kept for it. */
  private nextLarge: Ready | undefined;
  private isScheduled = false;
  private isClosed = false;

  constructor(
    private readonly attempts: AttemptService,
    private readonly transmitter: SmtpTransmitter,
    private readonly slots: WorkerSlots,
    private readonly planner: ClaimPlanner,
    private readonly signal: WorkSignal,
    private readonly clock: Clock,
  ) {}

  /** Resolves when the attempt has ended, or will not be made now. */
  async enter(claim: ClaimedDelivery, message: PreparedMessage): Promise<AttemptResult> {
    const entered = this.planner.expect(claim);
    const startedMs = this.clock.monotonicMs();
    const { destination, organizationId: holder } = claim;
    let route: Route;
    try {
      route = await this.transmitter.routeTo(destination, { isExempt: message.isExempt, holder });
    } catch (error) {
      // A fault of this side: what is counted for the claim would be counted for ever.
      this.forget(entered, message);
      return this.attempts.fail(claim, error);
    }
    const readyMs = this.clock.monotonicMs();
    const dnsMs = readyMs - startedMs;
    if (route.kind === 'hosts') this.slots.learnGroup(destination, route);
    const expected = this.planner.regroup(entered);
    if (route.kind === 'hosts' && !this.isClosed) {
      const isLarge = !message.isPresent;
      const ready = { claim, message, route, dnsMs, expected, isLarge, readyMs };
      return new Promise((resolve) => {
        this.room.add({ ...ready, resolve });
        this.schedule();
      });
    }
    this.forget(expected, message);
    return route.kind === 'hosts' ? RELEASED : this.withoutRoute(claim, route, dnsMs);
  }

  /** Its attempt does not begin. */
  private forget(expected: Expected, message: PreparedMessage): void {
    this.planner.leave(expected);
    message.drop();
  }

  /** That the one hop for everything is not found now concerns no mail in particular: none of them has been tried. */
  private withoutRoute(claim: ClaimedDelivery, route: Unroutable, dnsMs: number): AttemptResult {
    if (!this.slots.isSharedHop || route.permanent) return this.attempts.unroutable(claim, route, dnsMs);
    this.slots.pause();
    this.slots.hop.noteMissing(route.reason);
    return RELEASED;
  }

  /** Gives back what has waited too long, and starts what can start. */
  giveBack(): Map<WaitReason, number> {
    const nowMs = this.clock.monotonicMs();
    const counts = new Map<WaitReason, number>();
    if (this.nextLarge && BESIDE_BYTES.has(this.reasonOf(this.nextLarge))) this.keepNoRoom(this.nextLarge);
    const late = this.room.remove((item) => nowMs - item.readyMs > this.momentOf(item));
    for (const item of late) {
      const reason = this.reasonOf(item);
      counts.set(reason, (counts.get(reason) ?? 0) + 1);
      this.turnAway(item);
    }
    this.schedule();
    return counts;
  }

  /** Ends attempts at silent servers for tenants that hold less than others and wait; returns how many. */
  makeRoom(): number {
    if (this.isClosed || this.slots.isHeldBack) return 0;
    const served = new Set<string>();
    let ended = 0;
    for (const item of this.room) {
      const { organizationId } = item.claim;
      if (served.has(organizationId)) continue;
      const reason = this.reasonOf(item);
      if (reason !== 'slots' && reason !== 'tenant' && reason !== 'bytes') continue;
      served.add(organizationId);
      if (this.underWay.makeRoomFor(organizationId, reason === 'bytes' ? 'large' : 'all')) ended += 1;
    }
    return ended;
  }

  /** True for a claim whose message is composed and whose attempt has waited for a slot, or for its server, for `ms`. */
  hasWaited(claim: ClaimedDelivery, ms: number): boolean {
    const nowMs = this.clock.monotonicMs();
    for (const item of this.room) if (item.claim === claim) return nowMs - item.readyMs >= ms;
    return this.underWay.waitingMs(claim) >= ms;
  }

  /** Ends the attempt for a claim if its server is silent and its final dot is not out; one that waits is given back. */
  cutShort(claim: ClaimedDelivery): void {
    this.underWay.end(claim);
    for (const item of this.room.remove((one) => one.claim === claim)) this.turnAway(item);
  }

  /** How many wait for what. */
  waits(): Map<WaitReason, number> {
    const counts = new Map<WaitReason, number>();
    for (const item of this.room) {
      const reason = this.reasonOf(item);
      counts.set(reason, (counts.get(reason) ?? 0) + 1);
    }
    return counts;
  }

  /** Starts nothing more; what waits is given back. */
  close(): void {
    this.isClosed = true;
    this.turnAwayAll();
    this.transmitter.dropWaiting();
  }

  /** Gives back what waits. */
  turnAwayAll(): void {
    for (const item of this.room.remove(() => true)) this.turnAway(item);
  }

  private momentOf(item: Ready): number {
    if (item === this.nextLarge) return NEXT_LARGE_MOMENT_MS;
    return item.isLarge ? LARGE_MOMENT_MS : MOMENT_MS;
  }

  private keepNoRoom(item: Ready): void {
    if (item !== this.nextLarge) return;
    this.nextLarge = undefined;
    item.message.keepNoRoom();
  }

  /** Its tenant holds bytes of large mail from now on, unless they are there already: none are kept for one that does. */
  private takeRoom(item: Ready): void {
    const next = this.nextLarge;
    const takesShare = !item.message.isPresent && next?.claim.organizationId === item.claim.organizationId;
    if (next && (next === item || takesShare)) this.keepNoRoom(next);
  }

  private turnAway(item: Ready): void {
    this.keepNoRoom(item);
    this.forget(item.expected, item.message);
    item.resolve(RELEASED);
  }

  /** Once for all that happens in the same turn. */
  private schedule(): void {
    if (this.isScheduled) return;
    this.isScheduled = true;
    queueMicrotask(() => {
      this.isScheduled = false;
      if (!this.isClosed) this.room.offer((item) => this.tryBegin(item));
    });
  }

  private tryBegin(item: Ready): Taken {
    const hosts = this.transmitter.firstHosts(item.route);
    const refusal = this.slots.refusalOf(item.claim, hosts);
    if (refusal === 'slots') return 'full';
    if (refusal === 'tenant' && !this.slots.hasShare(item.claim.organizationId)) return 'tenant';
    if (refusal !== undefined) return false;
    if (!item.message.mayBegin) {
      if (item.isLarge && this.nextLarge === undefined && item.message.keepRoom()) this.nextLarge = item;
      return false;
    }
    this.takeRoom(item);
    this.planner.begin(item.expected);
    void this.run(item, this.slots.take(item.claim, hosts));
    return true;
  }

  private async run({ claim, message, route, dnsMs, resolve, isLarge }: Ready, ticket: Ticket): Promise<void> {
    const conversation = new Conversation();
    const holder = { claim, isLarge, conversation };
    this.underWay.add(holder);
    const { host: first, key: group } = ticket;
    const messagesPerConnection = this.slots.messagesPerConnection(group);
    const isLimited = this.slots.isLimited(group);
    const target = { hosts: route, first, group, conversation, dnsMs, messagesPerConnection, isLimited };
    const { result, signal, cause } = await this.attempts.run(claim, message, target);
    this.underWay.remove(holder);
    if (signal === 'local') this.slots.backOff();
    this.slots.give(ticket, signal === 'local' ? 'neutral' : signal, cause);
    message.drop();
    this.schedule();
    const { organizationId, destination } = claim;
    if (this.planner.wasCut(organizationId, destination) && this.planner.couldClaim(destination)) this.signal.notify();
    resolve(result);
  }

  private reasonOf({ claim, route, message }: Ready): WaitReason {
    const refusal = this.slots.refusalOf(claim, this.transmitter.firstHosts(route));
    return refusal ?? (message.mayBegin ? 'turn' : 'bytes');
  }
}
