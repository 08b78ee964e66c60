import { setMaxListeners } from 'node:events';
import { Injectable } from '@nestjs/common';
import { Clock, SECOND } from '../../../common/clock';
import { type EventKey, EventsService } from '../../events/events.service';
import { AttemptSettler } from './attempt-settler.service';
import { DispatchMetrics } from './dispatch.metrics';
import { type OutgoingWebhook, toOutgoing, WebhookSender } from './webhook-sender.service';
import { EndpointSlots, FRESH_SLOTS } from './endpoint-slots';
import { MAX_HELD } from './organization-shares';
import { type AttemptDecision, endAsEventGone, release } from './evaluate-attempt';
import { WebhookMessagesRepository } from '../queue/webhook-messages.repository';
import { CLAIM_MS, type ClaimedMessage, type SettledMessage } from '../queue/webhook-queue';

const MAX_CLAIM = 500;
/** A claim that is not begun within its first part is given back. */
const BEGIN_WITHIN_MS = 20 * SECOND;

/**
 * Takes messages that are due and sends them; each endpoint has its own slots, each host its own of each organization,
 * and each organization its share of them all, so that none waits for another.
 *
 *   pending ──claim──► sending ──2xx──► delivered
 *      ▲                  ├──failure, attempts left──► pending, due later
 *      │                  ├──the last failure, 410, the event is gone──► failed
 *      └──given back──────┴──the claim's time is over (the process died)──► pending, due now
 */
@Injectable()
export class WebhookDispatcher {
  private readonly slots = new EndpointSlots<OutgoingWebhook>();
  private readonly underWay = new Set<Promise<void>>();
  private readonly ending = new AbortController();
  private onFreeSlots: () => void = () => undefined;

  constructor(
    private readonly messages: WebhookMessagesRepository,
    private readonly feed: EventsService,
    private readonly sender: WebhookSender,
    private readonly settler: AttemptSettler,
    private readonly metrics: DispatchMetrics,
    private readonly clock: Clock,
  ) {
    // Every result that waits out an outage listens, too.
    setMaxListeners(0, this.ending.signal);
  }

  /** @param listener is called whenever an endpoint has many free slots. */
  listen(listener: () => void): void {
    this.onFreeSlots = listener;
  }

  /** One claim; returns how many messages were taken. @throws UnavailableError */
  async round(): Promise<number> {
    const nowMs = this.clock.now().getTime();
    this.giveBack(this.slots.withdraw(new Date(nowMs + CLAIM_MS - BEGIN_WITHIN_MS)));
    const limit = Math.min(MAX_CLAIM, MAX_HELD - this.slots.held);
    if (limit <= 0 || !this.clock.isReliable) return 0;
    const [now, until] = [new Date(nowMs), new Date(nowMs + CLAIM_MS)];
    const slots = { slots: this.slots.freeSlots(nowMs), freshSlots: FRESH_SLOTS };
    const shares = { shares: this.slots.shares(), freshShare: this.slots.freshShare };
    const claimed = await this.messages.claim({ now, until, ...slots, ...shares, limit });
    await this.take(claimed, nowMs);
    return claimed.length;
  }

  /** Resolves when nothing is under way. */
  async ended(): Promise<void> {
    while (this.underWay.size > 0) await Promise.all(this.underWay);
  }

  /** Gives back what has not been started; with `now`, also what is under way. */
  stop(how?: 'now'): void {
    this.giveBack(this.slots.withdraw());
    if (how === 'now') this.ending.abort();
  }

  private async take(claimed: readonly ClaimedMessage[], nowMs: number): Promise<void> {
    const events = await this.eventsOf(claimed);
    for (const message of claimed) {
      const outgoing = toOutgoing(message, events.get(message.id));
      if (outgoing) {
        this.slots.add(outgoing, nowMs);
      } else {
        this.metrics.count('event_gone');
        this.track(this.settle(endAsEventGone(message)));
      }
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
    for (let next = this.slots.start(endpointId); next; next = this.slots.start(endpointId)) {
      this.track(this.attempt(next));
    }
  }

  private async attempt(message: OutgoingWebhook): Promise<void> {
    const startedMs = this.clock.monotonicMs();
    const decision = await this.sender.send(message, this.ending.signal);
    this.metrics.count(decision.result);
    this.note(message, decision, this.clock.monotonicMs() - startedMs);
    // The next one need not wait for the commit.
    const settling = this.settle(decision.settled);
    const hasFreeSlots = this.slots.end(message, this.clock.now().getTime());
    for (let next = this.slots.startAfter(message); next; next = this.slots.startAfter(message)) {
      this.track(this.attempt(next));
    }
    if (hasFreeSlots) this.onFreeSlots();
    await settling;
  }

  private note(message: OutgoingWebhook, { settled, retryAfterMs }: AttemptDecision, tookMs: number): void {
    const nowMs = this.clock.now().getTime();
    if (settled.result === 'succeeded') this.slots.succeeded(message, tookMs, nowMs);
    else this.giveBack(this.slots.failed(message, retryAfterMs, nowMs));
  }

  /** Until it is written, it is part of what its organization may hold: however slow the database is, no more is claimed. */
  private async settle(settled: SettledMessage): Promise<void> {
    const { organizationId } = settled.message;
    this.slots.organizations.hold(organizationId);
    await this.settler.settle(settled, this.ending.signal);
    this.slots.organizations.release(organizationId);
  }

  private giveBack(messages: readonly ClaimedMessage[]): void {
    for (const message of messages) this.track(this.settle(release(message)));
  }

  private track(work: Promise<void>): void {
    const tracked = work.finally(() => this.underWay.delete(tracked));
    this.underWay.add(tracked);
  }
}
