import { MINUTE, SECOND } from '../../../common/clock';
import type { ClaimedMessage } from '../queue/webhook-queue';

/** Requests at a time of one organization to one host from one process, whatever endpoints it has there. */
export const PARALLEL_AT_HOST = 25;
/** A host that responds may have as many messages held as it takes in this time, within bounds. */
const WORK_MS = 2 * SECOND;
const MOST_SLOTS = 20 * PARALLEL_AT_HOST;
const IDLE_MS = MINUTE;

interface HostState {
  sending: number;
  held: number;
  /** How many messages may be held. */
  size: number;
  usedAtMs: number;
  /** Endpoints that wait for a request of the host's, the next one first. */
  readonly turns: Set<string>;
}

/**
 * What each organization may send to one host. A hundred endpoints at one slow host had five hundred requests open there; together
 * they have 25, in turn, and few messages are claimed that would wait for these.
 *
 * A host that nothing has been sent to for a minute is dropped. All times are in milliseconds of one clock.
 */
export class HostSlots {
  private readonly hosts = new Map<string, HostState>();

  /** @param random from 0 to 1, for parts of a host's room that are less than one message */
  constructor(private readonly random: () => number = Math.random) {}

  add(host: string, nowMs: number): void {
    const state = this.stateOf(host);
    state.held += 1;
    state.usedAtMs = nowMs;
  }

  /** The message is no longer held. */
  remove(host: string): void {
    this.stateOf(host).held -= 1;
  }

  /** False when the host has all the requests that it may have; the endpoint waits for its turn then. */
  start(host: string, endpointId: string): boolean {
    const state = this.stateOf(host);
    const isFree = state.sending < PARALLEL_AT_HOST;
    if (isFree) state.sending += 1;
    else state.turns.add(endpointId);
    return isFree;
  }

  end(host: string): void {
    this.stateOf(host).sending -= 1;
  }

  /** The endpoints that wait for a request to the host, the next one first. */
  turnsAt(host: string): Set<string> {
    return this.stateOf(host).turns;
  }

  succeeded(host: string, tookMs: number): void {
    const size = Math.floor((PARALLEL_AT_HOST * WORK_MS) / Math.max(1, tookMs));
    this.stateOf(host).size = Math.min(MOST_SLOTS, Math.max(PARALLEL_AT_HOST, size));
  }

  /**
   * How many further messages there is room for of each endpoint, on average an equal part of its host's room.
   * @param hosts of the endpoints, one for each
   */
  roomOf(hosts: readonly string[]): number[] {
    const endpoints = new Map<string, number>();
    for (const host of hosts) endpoints.set(host, (endpoints.get(host) ?? 0) + 1);
    return hosts.map((host) => {
      const { size, held } = this.hosts.get(host) ?? { size: PARALLEL_AT_HOST, held: 0 };
      return Math.floor(Math.max(0, size - held) / (endpoints.get(host) ?? 1) + this.random());
    });
  }

  dropIdle(nowMs: number): void {
    for (const [host, { held, usedAtMs }] of this.hosts) {
      if (held === 0 && usedAtMs <= nowMs - IDLE_MS) this.hosts.delete(host);
    }
  }

  private stateOf(host: string): HostState {
    const known = this.hosts.get(host);
    if (known) return known;
    const state = { sending: 0, held: 0, size: PARALLEL_AT_HOST, usedAtMs: 0, turns: new Set<string>() };
    this.hosts.set(host, state);
    return state;
  }
}

/** The organization's host that a message is sent to, whatever the port. */
export function hostOf({ organizationId, url }: Pick<ClaimedMessage, 'organizationId' | 'url'>): string {
  return `${organizationId} ${URL.canParse(url) ? new URL(url).hostname : url}`;
}
