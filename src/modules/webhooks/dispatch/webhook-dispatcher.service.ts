import { setMaxListeners } from 'node:events';
import { Injectable } from '@nestjs/common';
import { Clock, MINUTE, SECOND } from '../../../common/clock';
import { type EventKey, EventsService } from '../../events/events.service';
import { AttemptSettler } from './attempt-settler.service';
import { DispatchMetrics } from './dispatch-metrics.service';
import { DispatchRepository } from './dispatch.repository';
import type { ClaimedMessage } from './dispatched-message';
import { EndpointLanes, FRESH_ROOM } from './endpoint-lanes';
import { type OutgoingWebhook, toOutgoing } from './outgoing-webhook';
import { endAsEventGone, release, type Verdict } from './verdict';
import { WebhookSender } from './webhook-sender.service';

/** Of one process, under way or waiting for their turn: room for hundreds of endpoints that hang. */
const MAX_HELD = 1_000;
const MAX_CLAIM = 500;
/** A claim that is not begun within its first part is given back, and an attempt takes a quarter at most. */
const CLAIM_MS = MINUTE;
const BEGIN_WITHIN_MS = 20 * SECOND;

/** What an attempt goes through. */
@Injectable()
export class AttemptSteps {
  constructor(
    readonly sender: WebhookSender,
    readonly settler: AttemptSettler,
    readonly metrics: DispatchMetrics,
  ) {}
}

/**
 * Takes messages that are due and sends them; each endpoint has its own lane, so that none waits for another.
 *
 *   pending ──claim──► sending ──2xx──► delivered
 *      ▲                  ├──failure, attempts left──► pending, due later
 *      │                  ├──the last failure, 410, the event is gone──► failed
 *      └──given back──────┴──the claim's time is over (the process died)──► pending, due now
 */
@Injectable()
export class WebhookDispatcher {
  private readonly lanes = new EndpointLanes<OutgoingWebhook>();
  private readonly underWay = new Set<Promise<void>>();
  private readonly ending = new AbortController();
  private onRoom: () => void = () => undefined;

  constructor(
    private readonly dispatch: DispatchRepository,
    private readonly feed: EventsService,
    private readonly steps: AttemptSteps,
    private readonly clock: Clock,
  ) {
    setMaxListeners(MAX_HELD, this.ending.signal);
  }

  /** @param listener is called whenever an endpoint has room for many more. */
  listen(listener: () => void): void {
    this.onRoom = listener;
  }

  /** One claim; answers how many messages were taken. @throws UnavailableError */
  async round(): Promise<number> {
    const nowMs = this.clock.now().getTime();
    this.giveBack(this.lanes.withdraw(new Date(nowMs + CLAIM_MS - BEGIN_WITHIN_MS)));
    const limit = Math.min(MAX_CLAIM, MAX_HELD - this.lanes.held);
    if (limit <= 0) return 0;
    const [now, until] = [new Date(nowMs), new Date(nowMs + CLAIM_MS)];
    const rooms = this.lanes.rooms(nowMs);
    const claimed = await this.dispatch.claim({ now, until, rooms, freshRoom: FRESH_ROOM, limit });
    await this.take(claimed, nowMs);
    return claimed.length;
  }

  /** Resolves when nothing is under way. */
  async ended(): Promise<void> {
    while (this.underWay.size > 0) await Promise.all(this.underWay);
  }

  /** Gives back what has not been started; with `now`, what is under way as well. */
  stop(how?: 'now'): void {
    this.giveBack(this.lanes.withdraw());
    if (how === 'now') this.ending.abort();
  }

  private async take(claimed: readonly ClaimedMessage[], nowMs: number): Promise<void> {
    const events = await this.eventsOf(claimed);
    for (const message of claimed) {
      const outgoing = toOutgoing(message, events.get(message.id));
      if (outgoing) this.lanes.add(outgoing, nowMs);
      else this.track(this.steps.settler.settle(endAsEventGone(message)));
    }
    for (const endpointId of new Set(claimed.map((message) => message.endpointId))) this.startAll(endpointId);
  }

  private async eventsOf(claimed: readonly ClaimedMessage[]) {
    const keys = claimed.flatMap(({ organizationId, mode, emailId, sequence }): EventKey[] =>
      emailId === null || sequence === null ? [] : [{ organizationId, mode, emailId, sequence }],
    );
    try {
      return new Map((await this.feed.find(keys)).map((event) => [event.id, event]));
    } catch (error) {
      this.giveBack(claimed);
      throw error;
    }
  }

  private startAll(endpointId: string): void {
    for (let next = this.lanes.start(endpointId); next; next = this.lanes.start(endpointId)) {
      this.track(this.attempt(next));
    }
  }

  private async attempt(message: OutgoingWebhook): Promise<void> {
    const startedMs = this.clock.monotonicMs();
    const verdict = await this.steps.sender.send(message, this.ending.signal);
    this.steps.metrics.count(verdict.result);
    this.note(message, verdict, this.clock.monotonicMs() - startedMs);
    // The next one need not wait for the commit.
    const hasRoom = this.lanes.end(message, this.clock.now().getTime());
    this.startAll(message.endpointId);
    if (hasRoom) this.onRoom();
    await this.steps.settler.settle(verdict.settled);
  }

  private note(message: OutgoingWebhook, { settled, askedMs }: Verdict, tookMs: number): void {
    const nowMs = this.clock.now().getTime();
    if (settled.result === 'succeeded') this.lanes.succeeded(message, tookMs, nowMs);
    else this.giveBack(this.lanes.failed(message, askedMs, nowMs));
  }

  private giveBack(messages: readonly ClaimedMessage[]): void {
    for (const message of messages) this.track(this.steps.settler.settle(release(message)));
  }

  private track(work: Promise<void>): void {
    const tracked = work.finally(() => this.underWay.delete(tracked));
    this.underWay.add(tracked);
  }
}
