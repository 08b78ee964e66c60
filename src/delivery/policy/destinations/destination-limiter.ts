import { MINUTE, SECOND, type Clock } from '../../../common/clock';
import {
  DESTINATION_LIMITER_DEFAULTS,
  type DestinationChange,
  type DestinationLimiterOptions,
  type DestinationState,
  type ReleaseSignal,
} from './destination-bounds';

/** Part of all slots that one destination may hold while others wait, so that a tarpit cannot stop the worker. */
const SLOT_SHARE = 0.25;
/** Conversations under way, and none has ended for this long. */
const SLOW_AFTER_MS = 10 * SECOND;
const FIRST_PAUSE_MS = 5 * SECOND;
const LONGEST_PAUSE_MS = 15 * MINUTE;
/** A block list removes no address within minutes, and what is refused meanwhile speaks for staying on it. */
const SUSPENSION_MS = 15 * MINUTE;
/** Well above the longest pause, so that an unreachable destination is not dropped between two probes. */
const FORGET_AFTER_MS = 60 * MINUTE;
const MAXIMUM_BLOCKED_LISTED = 1_000;
const MAXIMUM_CAUSE_LENGTH = 200;

interface Destination {
  active: number;
  limit: number;
  /** Pauses in a row; 0 while open. */
  pauses: number;
  /** On the monotonic clock; the pause is over from then on. */
  pausedUntilMs: number;
  usedAtMs: number;
  /** Whether the last conversation that showed anything was a success. */
  isTaking: boolean;
  /** When a conversation last ended, or the first of those under way began. */
  movedAtMs: number;
  /** When it was last paused, opened again or reduced. */
  changedAtMs: number;
  /** Reported by another worker. */
  isAdopted: boolean;
  cause: string | undefined;
}

const NEW: Destination = {
  ...{ active: 0, limit: 1, pauses: 0, pausedUntilMs: -Infinity, usedAtMs: 0 },
  ...{ isTaking: false, movedAtMs: 0, changedAtMs: -Infinity, isAdopted: false, cause: undefined },
};

/**
 * Shapes traffic per destination: how many conversations at a time, and whether any.
 *
 * A destination is **open**, **paused** or **probing**, and starts open at 2.
 * - Open: each success raises the limit by one, up to 20. Each `throttled`, `unreachable` or `interrupted` halves it, but
 *   only once the slots above the present limit have drained: results of the old limit show nothing about the new
 *   one. At limit 1 the first two pause the destination, `interrupted` does not: one tenant's message must not hold back
 *   all others'. `suspended` pauses it at once, for 15 min; a relay only counts it as `throttled`.
 * - Paused: no slot is given out. The pause is 5 s at first and doubles up to 15 min. Results of conversations that
 *   were still running change nothing, save a success, which opens it again.
 * - Probing: the pause is over and exactly one slot is given out. `success` opens the destination at 2, `neutral` at 1
 *   (it replied, no more), as does `interrupted`; another failure pauses it again for twice as long.
 *
 * So an outage costs each destination one attempt per pause instead of one per message, and the messages keep their own
 * schedules. While others wait, no destination holds more than a quarter of all slots. The state is the process's own and is
 * lost with it: a restart starts low again, which is the safe side.
 */
export class DestinationLimiter {
  /** In order of last use, so that the first is the one to forget. */
  private readonly destinations = new Map<string, Destination>();
  private readonly options: DestinationLimiterOptions;

  constructor(
    private readonly clock: Clock,
    options: Pick<DestinationLimiterOptions, 'slots'> & Partial<DestinationLimiterOptions>,
  ) {
    this.options = { ...DESTINATION_LIMITER_DEFAULTS, ...options };
  }

  /**
   * Takes a slot to a destination; every `true` must be given back by one `release`.
   * @param othersWait false when no other destination has work, which lifts the share of slots.
   */
  tryAcquire(destination: string, othersWait = true): boolean {
    const state = this.touch(destination);
    if (state.active >= this.allowed(state, othersWait)) return false;
    if (state.active === 0) state.movedAtMs = state.usedAtMs;
    state.active += 1;
    return true;
  }

  /** Gives a slot back with what it showed. @param cause shown by `describe()`, at most 200 characters. */
  release(destination: string, signal: ReleaseSignal, cause: string = signal): void {
    const state = this.destinations.get(destination);
    if (state === undefined || state.active === 0) return;
    state.active -= 1;
    state.movedAtMs = this.clock.monotonicMs();
    if (signal !== 'neutral') state.isTaking = signal === 'success';
    const reason = cause.slice(0, MAXIMUM_CAUSE_LENGTH);
    switch (signal) {
      case 'success':
        return this.raise(state);
      case 'throttled':
      case 'unreachable':
        return this.reduce(state, reason);
      case 'suspended':
        return this.suspend(state, reason);
      case 'interrupted':
        return state.limit > 1 && state.pauses === 0 ? this.reduce(state, reason) : this.endProbe(state);
      case 'neutral':
        return this.endProbe(state);
    }
  }

  /** How many more conversations may begin now. @param othersWait as for `tryAcquire` */
  roomFor(destination: string, othersWait = true): number {
    const state = this.destinations.get(destination);
    if (state !== undefined) return Math.max(0, this.allowed(state, othersWait) - state.active);
    return othersWait ? Math.min(this.options.startConcurrency, this.share()) : this.options.startConcurrency;
  }

  loadOf(destination: string): { limit: number; active: number } {
    const state = this.destinations.get(destination);
    return state === undefined
      ? { limit: this.options.startConcurrency, active: 0 }
      : { limit: this.limitIn(state), active: state.active };
  }

  /** True for a destination that takes our mail, and does it without long silences: the opposite of unknown, down or slow. */
  isPrompt(destination: string): boolean {
    const state = this.destinations.get(destination);
    if (state === undefined || !state.isTaking || state.pauses > 0) return false;
    return state.active === 0 || this.clock.monotonicMs() - state.movedAtMs < SLOW_AFTER_MS;
  }

  /**
   * Destinations whose limit or load differs from a new one's, for the claim. At most 1,000, blocked ones first; for unlisted
   * ones a claim assumes the values of a new one.
   */
  loads(): { destination: string; limit: number; active: number }[] {
    const start = this.options.startConcurrency;
    const loads = [...this.destinations]
      .map(([destination, state]) => ({ destination, limit: this.limitIn(state), active: state.active }))
      .filter(({ limit, active }) => active > 0 || limit !== start);
    if (loads.length <= MAXIMUM_BLOCKED_LISTED) return loads;
    const isFull = ({ limit, active }: { limit: number; active: number }) => active >= limit;
    const full = loads.filter(isFull).slice(-MAXIMUM_BLOCKED_LISTED);
    const others = loads.filter((load) => !isFull(load)).reverse();
    return [...full, ...others].slice(0, MAXIMUM_BLOCKED_LISTED);
  }

  /** When a destination may be tried again; undefined unless it is paused. */
  pausedUntil(destination: string): Date | undefined {
    const state = this.destinations.get(destination);
    return state === undefined || !this.isPaused(state) ? undefined : this.endOfPause(state);
  }

  /** Destinations that are held back or busy, the held back first. */
  describe(): DestinationState[] {
    const states = [...this.destinations].map(([destination, state]) => this.describeOne(destination, state));
    const worth = states.filter((state) => state.state !== 'open' || state.cause !== undefined || state.active > 0);
    const held = (state: DestinationState): number => (state.state === 'open' ? 1 : 0);
    return worth.sort((a, b) => held(a) - held(b) || a.limit - b.limit);
  }

  /** The last change that this worker saw itself, and how long ago; undefined when there was none. */
  lastChange(destination: string): (DestinationChange & { readonly agoMs: number }) | undefined {
    const state = this.destinations.get(destination);
    if (state === undefined || state.isAdopted || state.changedAtMs === -Infinity) return undefined;
    const nowMs = this.clock.monotonicMs();
    const pausedForMs = Math.max(0, state.pausedUntilMs - nowMs);
    const { pauses, limit, cause } = state;
    return { pausedForMs, pauses, limit, cause, agoMs: nowMs - state.changedAtMs };
  }

  /** Another worker has used this destination: its findings apply here, unless this worker has newer ones. */
  adopt(destination: string, { pausedForMs, pauses, limit, cause }: DestinationChange, agoMs: number): void {
    const state = this.destinations.get(destination) ?? this.touch(destination);
    const changedAtMs = this.clock.monotonicMs() - agoMs;
    if (changedAtMs <= state.changedAtMs) return;
    state.changedAtMs = changedAtMs;
    state.isAdopted = true;
    state.pausedUntilMs = pausedForMs > 0 ? this.clock.monotonicMs() + pausedForMs : -Infinity;
    state.pauses = pauses;
    state.limit = Math.max(1, pauses > 0 ? limit : Math.min(state.limit, limit));
    state.cause = cause;
  }

  private describeOne(destination: string, state: Destination): DestinationState {
    const paused = this.isPaused(state);
    return {
      destination,
      state: paused ? 'paused' : state.pauses > 0 ? 'probing' : 'open',
      limit: this.limitIn(state),
      active: state.active,
      ...(state.cause !== undefined && { cause: state.cause }),
      ...(paused && { pausedUntil: this.endOfPause(state) }),
    };
  }

  private allowed(state: Destination, othersWait: boolean): number {
    const limit = this.limitIn(state);
    return othersWait ? Math.min(limit, this.share()) : limit;
  }

  private share(): number {
    return Math.max(1, Math.floor(this.options.slots * SLOT_SHARE));
  }

  private limitIn(state: Destination): number {
    return this.isPaused(state) ? 0 : state.limit;
  }

  private isPaused(state: Destination): boolean {
    return state.pausedUntilMs > this.clock.monotonicMs();
  }

  private endOfPause(state: Destination): Date {
    return new Date(this.clock.now().getTime() + state.pausedUntilMs - this.clock.monotonicMs());
  }

  private raise(state: Destination): void {
    if (state.pauses > 0) return this.open(state, this.options.startConcurrency);
    state.limit = Math.min(state.limit + 1, this.options.maximumConcurrency);
    if (state.limit >= this.options.startConcurrency) state.cause = undefined;
  }

  /** The probe has shown that the destination replies. */
  private endProbe(state: Destination): void {
    if (state.pauses > 0 && !this.isPaused(state)) this.open(state, 1);
  }

  private open(state: Destination, limit: number): void {
    state.pauses = 0;
    state.pausedUntilMs = -Infinity;
    state.limit = limit;
    this.noteChange(state);
    if (limit >= this.options.startConcurrency) state.cause = undefined;
  }

  private reduce(state: Destination, cause: string): void {
    if (this.isPaused(state) || state.active >= state.limit) return;
    state.cause = cause;
    if (state.limit > 1) {
      state.limit = Math.floor(state.limit / 2);
      return this.noteChange(state);
    }
    this.pause(state, Math.min(FIRST_PAUSE_MS * 2 ** state.pauses, LONGEST_PAUSE_MS));
  }

  /** Attempts that were under way at the same time bring no news. */
  private suspend(state: Destination, cause: string): void {
    if (this.options.sharedHop) return this.reduce(state, cause);
    if (this.isPaused(state)) return;
    state.cause = cause;
    state.limit = 1;
    this.pause(state, SUSPENSION_MS);
  }

  private pause(state: Destination, pauseMs: number): void {
    state.pauses += 1;
    this.noteChange(state);
    state.pausedUntilMs = state.changedAtMs + pauseMs;
  }

  private noteChange(state: Destination): void {
    state.changedAtMs = this.clock.monotonicMs();
    state.isAdopted = false;
  }

  private touch(destination: string): Destination {
    const nowMs = this.clock.monotonicMs();
    this.forgetIdle(nowMs);
    const state = this.destinations.get(destination) ?? this.create();
    state.usedAtMs = nowMs;
    this.destinations.delete(destination);
    this.destinations.set(destination, state);
    return state;
  }

  private create(): Destination {
    if (this.destinations.size >= this.options.maximumDestinations) this.forgetOldest();
    return { ...NEW, limit: this.options.startConcurrency };
  }

  /** The longest unused stand first, so that a call reads no further than it deletes. */
  private forgetIdle(nowMs: number): void {
    for (const [destination, state] of this.destinations) {
      if (state.active > 0 || nowMs - state.usedAtMs < FORGET_AFTER_MS) return;
      this.destinations.delete(destination);
    }
  }

  /**
   * Never one with running slots: its count would be lost. There are no more of those than slots. One that is held back is not
   * in use for that reason, and goes only when all others are gone.
   */
  private forgetOldest(): void {
    const idle = [...this.destinations].filter(([, { active }]) => active === 0);
    const [oldest] = idle.find(([, { pauses }]) => pauses === 0) ?? idle[0] ?? [];
    if (oldest !== undefined) this.destinations.delete(oldest);
  }
}
