import { MINUTE, SECOND } from '../../../common/clock';
import { hostOf, HostSlots } from './host-slots';
import { OrganizationShares } from './organization-shares';
import type { ClaimedMessage, FreeSlots, OrganizationShare } from '../queue/webhook-queue';

/** Requests at a time to one endpoint from one process. */
export const PARALLEL = 5;
/** Claimed at once for a new endpoint: hundreds of slow ones must not take all the slots. */
export const FRESH_SLOTS = 2;
/** For one that responds: what it takes in this time, within bounds, so that a backlog does not wait for claims. */
const WORK_MS = 2 * SECOND;
const MOST_SLOTS = 20 * PARALLEL;
/** A failing endpoint is paused for a share of the time of its failure, between these limits. */
const PAUSE_SHARE = 1 / 8;
const SHORTEST_PAUSE_MS = SECOND;
const LONGEST_PAUSE_MS = 30 * SECOND;
/** `Retry-After` holds back the whole endpoint, yet not for longer than a repair may take to be noticed. */
const LONGEST_RETRY_AFTER_MS = 5 * MINUTE;
const IDLE_MS = MINUTE;

interface EndpointState<Message> {
  /** Where the last message that was claimed goes. */
  host: string;
  readonly waiting: Message[];
  /** What is being sent, by the email that it is about. */
  readonly sending: Set<string>;
  /** How many messages may be held. */
  size: number;
  pausedUntilMs: number;
  usedAtMs: number;
}

/**
 * How much each endpoint may be sent now: a number of slots for each that has been sent to lately, so that none waits for
 * another. The events of one email go one after the other.
 *
 *   fresh (2) ──success──► steady (5 to 100, by its speed) ──failure──► failing (1, paused) ──success──► steady
 *
 * The endpoints of one organization at one host share what that host may be sent (`HostSlots`).
 * The endpoints of an organization share what it may hold of all (`OrganizationShares`).
 *
 * An endpoint that has not been sent to for a minute is dropped. All times are in milliseconds of one clock.
 */
export class EndpointSlots<Message extends ClaimedMessage = ClaimedMessage> {
  private readonly endpoints = new Map<string, EndpointState<Message>>();
  private readonly hosts = new HostSlots();
  /** Results that wait to be written count in it, too: the dispatcher adds them. */
  readonly organizations = new OrganizationShares();

  /** Messages that are held, sent or waiting. */
  get held(): number {
    return this.organizations.held;
  }

  /** The room of each endpoint known here. */
  freeSlots(nowMs: number): FreeSlots[] {
    this.dropIdle(nowMs);
    const rooms = this.hosts.roomOf([...this.endpoints.values()].map(({ host }) => host));
    return [...this.endpoints].map(([endpointId, state], index) => ({
      endpointId,
      free: state.pausedUntilMs > nowMs ? 0 : Math.max(0, Math.min(state.size - sizeOf(state), rooms[index] ?? 0)),
    }));
  }

  /** What may be claimed for the organizations that hold something. */
  shares(): OrganizationShare[] {
    return this.organizations.list();
  }

  /** What may be claimed for any other. */
  get freshShare(): number {
    return this.organizations.fresh;
  }

  add(message: Message, nowMs: number): void {
    const state = this.stateOf(message, nowMs);
    state.usedAtMs = nowMs;
    state.host = hostOf(message);
    state.waiting.push(message);
    this.hosts.add(state.host, nowMs);
    this.organizations.hold(message.organizationId);
  }

  /** The next message of the endpoint to send, if one may be sent now. */
  start(endpointId: string): Message | undefined {
    const state = this.endpoints.get(endpointId);
    if (!state || state.sending.size >= PARALLEL) return undefined;
    const message = state.waiting.find((one) => !state.sending.has(subjectOf(one)));
    if (!message || !this.hosts.start(hostOf(message), endpointId)) return undefined;
    state.waiting.splice(state.waiting.indexOf(message), 1);
    state.sending.add(subjectOf(message));
    return message;
  }

  /** The next message to send after one that has ended: of its endpoint, or of the organization's others at its host, in turn. */
  startAfter(ended: ClaimedMessage): Message | undefined {
    const turns = this.hosts.turnsAt(hostOf(ended)).add(ended.endpointId);
    for (const endpointId of [...turns]) {
      turns.delete(endpointId);
      const next = this.start(endpointId);
      if (!next) continue;
      turns.add(endpointId);
      return next;
    }
    return undefined;
  }

  /** Ends a message that was started. True when the endpoint has many free slots. */
  end(message: ClaimedMessage, nowMs: number): boolean {
    const state = this.stateOf(message, nowMs);
    state.usedAtMs = nowMs;
    state.sending.delete(subjectOf(message));
    this.hosts.end(hostOf(message));
    this.release(message);
    return state.pausedUntilMs <= nowMs && sizeOf(state) <= state.size / 2;
  }

  succeeded(message: ClaimedMessage, tookMs: number, nowMs: number): void {
    const state = this.stateOf(message, nowMs);
    state.size = Math.min(MOST_SLOTS, Math.max(PARALLEL, Math.floor((PARALLEL * WORK_MS) / Math.max(1, tookMs))));
    state.pausedUntilMs = 0;
    this.hosts.succeeded(hostOf(message), tookMs);
  }

  /** The endpoint is paused; returns what was waiting for it, to be given back. */
  failed(message: ClaimedMessage, retryAfterMs: number, nowMs: number): Message[] {
    const state = this.stateOf(message, nowMs);
    const failingMs = nowMs - (message.failingSince?.getTime() ?? nowMs);
    const pauseMs = Math.min(LONGEST_PAUSE_MS, Math.max(SHORTEST_PAUSE_MS, failingMs * PAUSE_SHARE));
    state.size = 1;
    state.pausedUntilMs = nowMs + Math.max(pauseMs, Math.min(retryAfterMs, LONGEST_RETRY_AFTER_MS));
    return this.takeWaiting(state);
  }

  /** All that has not been started, to be given back: of a certain age, or everything. */
  withdraw(claimedUntil?: Date): Message[] {
    const isOld = (message: Message) => claimedUntil === undefined || message.claimedUntil <= claimedUntil;
    return [...this.endpoints.values()].flatMap((state) => this.takeWaiting(state, isOld));
  }

  private takeWaiting(state: EndpointState<Message>, isTaken: (message: Message) => boolean = () => true): Message[] {
    const taken = state.waiting.filter(isTaken);
    const left = state.waiting.filter((message) => !isTaken(message));
    state.waiting.splice(0, Infinity, ...left);
    for (const message of taken) this.release(message);
    return taken;
  }

  private release(message: ClaimedMessage): void {
    this.hosts.remove(hostOf(message));
    this.organizations.release(message.organizationId);
  }

  private stateOf(message: ClaimedMessage, nowMs: number): EndpointState<Message> {
    const known = this.endpoints.get(message.endpointId);
    if (known) return known;
    const size = message.failingSince === null ? FRESH_SLOTS : 1;
    const times = { pausedUntilMs: 0, usedAtMs: nowMs };
    const state: EndpointState<Message> = { host: hostOf(message), waiting: [], sending: new Set(), size, ...times };
    this.endpoints.set(message.endpointId, state);
    return state;
  }

  private dropIdle(nowMs: number): void {
    this.hosts.dropIdle(nowMs);
    for (const [endpointId, state] of this.endpoints) {
      const isOver = sizeOf(state) === 0 && state.pausedUntilMs <= nowMs && state.usedAtMs <= nowMs - IDLE_MS;
      if (isOver) this.endpoints.delete(endpointId);
    }
  }
}

function sizeOf({ waiting, sending }: EndpointState<unknown>): number {
  return waiting.length + sending.size;
}

function subjectOf({ emailId, id }: ClaimedMessage): string {
  return emailId ?? id;
}
