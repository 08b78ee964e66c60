import { MINUTE, SECOND } from '../../../common/clock';
import type { ClaimedMessage, Room } from './dispatched-message';

/** Requests at a time to one endpoint from one process. */
export const PARALLEL = 5;
/** Claimed at once for an endpoint that nothing is known of: hundreds of slow ones must not take all the room. */
export const FRESH_ROOM = 2;
/** For one that answers: what it takes in this time, within bounds, so that a backlog does not wait for claims. */
const WORK_MS = 2 * SECOND;
const MOST_ROOM = 20 * PARALLEL;
/** A failing endpoint is left alone for a share of the time that it has failed for, between these. */
const PAUSE_SHARE = 1 / 8;
const SHORTEST_PAUSE_MS = SECOND;
const LONGEST_PAUSE_MS = 30 * SECOND;
/** `Retry-After` holds back the whole endpoint, yet not for longer than a repair may take to be noticed. */
const LONGEST_ASKED_MS = 5 * MINUTE;
const FORGET_MS = MINUTE;

interface Lane<Message> {
  readonly waiting: Message[];
  /** What is being sent, by the email that it is about. */
  readonly sending: Set<string>;
  /** How many messages may be held. */
  size: number;
  pausedUntilMs: number;
  usedAtMs: number;
}

/**
 * Who may send how much now: a lane for each endpoint that has been sent to lately. The events of one email go one after
 * the other.
 *
 *   fresh (2) ──success──► steady (5 to 100, by its speed) ──failure──► failing (1, paused) ──success──► steady
 *
 * A lane that has not been used for a minute is forgotten. All times are in milliseconds of one clock.
 */
export class EndpointLanes<Message extends ClaimedMessage = ClaimedMessage> {
  private readonly lanes = new Map<string, Lane<Message>>();
  private heldCount = 0;

  /** Messages that are held, sent or waiting. */
  get held(): number {
    return this.heldCount;
  }

  /** What may be claimed for the endpoints that have a lane. */
  rooms(nowMs: number): Room[] {
    this.forget(nowMs);
    return [...this.lanes].map(([endpointId, lane]) => ({
      endpointId,
      room: lane.pausedUntilMs > nowMs ? 0 : Math.max(0, lane.size - sizeOf(lane)),
    }));
  }

  add(message: Message, nowMs: number): void {
    const lane = this.laneOf(message, nowMs);
    lane.usedAtMs = nowMs;
    lane.waiting.push(message);
    this.heldCount += 1;
  }

  /** The next message of the endpoint to send, if one may be sent now. */
  start(endpointId: string): Message | undefined {
    const lane = this.lanes.get(endpointId);
    if (!lane || lane.sending.size >= PARALLEL) return undefined;
    const index = lane.waiting.findIndex((message) => !lane.sending.has(subjectOf(message)));
    const [message] = index === -1 ? [] : lane.waiting.splice(index, 1);
    if (message) lane.sending.add(subjectOf(message));
    return message;
  }

  /** Ends a message that was started. True when the endpoint has room for many more. */
  end(message: ClaimedMessage, nowMs: number): boolean {
    const lane = this.laneOf(message, nowMs);
    lane.usedAtMs = nowMs;
    lane.sending.delete(subjectOf(message));
    this.heldCount -= 1;
    return lane.pausedUntilMs <= nowMs && sizeOf(lane) <= lane.size / 2;
  }

  succeeded(message: ClaimedMessage, tookMs: number, nowMs: number): void {
    const lane = this.laneOf(message, nowMs);
    lane.size = Math.min(MOST_ROOM, Math.max(PARALLEL, Math.floor((PARALLEL * WORK_MS) / Math.max(1, tookMs))));
    lane.pausedUntilMs = 0;
  }

  /** The endpoint is given time; answers what was waiting for it, to be given back. */
  failed(message: ClaimedMessage, askedMs: number, nowMs: number): Message[] {
    const lane = this.laneOf(message, nowMs);
    const failingMs = nowMs - (message.failingSince?.getTime() ?? nowMs);
    const pauseMs = Math.min(LONGEST_PAUSE_MS, Math.max(SHORTEST_PAUSE_MS, failingMs * PAUSE_SHARE));
    lane.size = 1;
    lane.pausedUntilMs = nowMs + Math.max(pauseMs, Math.min(askedMs, LONGEST_ASKED_MS));
    return this.takeWaiting(lane);
  }

  /** All that has not been started, to be given back: of a certain age, or everything. */
  withdraw(claimedUntil?: Date): Message[] {
    const isOld = (message: Message) => claimedUntil === undefined || message.claimedUntil <= claimedUntil;
    return [...this.lanes.values()].flatMap((lane) => this.takeWaiting(lane, isOld));
  }

  private takeWaiting(lane: Lane<Message>, isTaken: (message: Message) => boolean = () => true): Message[] {
    const taken = lane.waiting.filter(isTaken);
    const left = lane.waiting.filter((message) => !isTaken(message));
    lane.waiting.splice(0, Infinity, ...left);
    this.heldCount -= taken.length;
    return taken;
  }

  private laneOf({ endpointId, failingSince }: ClaimedMessage, nowMs: number): Lane<Message> {
    const known = this.lanes.get(endpointId);
    if (known) return known;
    const size = failingSince === null ? FRESH_ROOM : 1;
    const lane: Lane<Message> = { waiting: [], sending: new Set(), size, pausedUntilMs: 0, usedAtMs: nowMs };
    this.lanes.set(endpointId, lane);
    return lane;
  }

  private forget(nowMs: number): void {
    for (const [endpointId, lane] of this.lanes) {
      const isOver = sizeOf(lane) === 0 && lane.pausedUntilMs <= nowMs && lane.usedAtMs <= nowMs - FORGET_MS;
      if (isOver) this.lanes.delete(endpointId);
    }
  }
}

function sizeOf({ waiting, sending }: Lane<unknown>): number {
  return waiting.length + sending.size;
}

function subjectOf({ emailId, id }: ClaimedMessage): string {
  return emailId ?? id;
}
