import { createHmac } from 'node:crypto';
import { Injectable, Logger } from '@nestjs/common';
import { EVENT_LOOP } from '../../../common/async/fair-turns';
import { Clock, MINUTE } from '../../../common/clock';
import { EgressClient, type EgressResponse, type EgressResult } from '../../../common/egress/egress-client';
import { withoutEncodedAddresses } from '../../../common/erasure/without-addresses';
import { reasonOf } from '../../../common/errors/app-error';
import type { FeedEvent } from '../../events/events.service';
import { type AttemptDecision, evaluateAttempt, release } from './evaluate-attempt';
import { type ClaimedMessage, payloadOf, WEBHOOK_HEADERS } from '../queue/webhook-queue';
import type { WebhookResponse } from '../queue/webhook.entity';
import { WebhookSecrets } from '../endpoints/webhook-secrets.service';

/** A secret that does not open is the operator's mistake, anything else ours: it does not count against the endpoint. */
const UNSENDABLE_PAUSE_MS = MINUTE;
/** Removing addresses from a longer response takes a millisecond: one in a turn, however many come together. */
const SHORT_RESPONSE_BYTES = 128;

/** One attempt: signs, sends, and decides what the response means. */
@Injectable()
export class WebhookSender {
  private readonly logger = new Logger(WebhookSender.name);

  constructor(
    private readonly client: EgressClient,
    private readonly secrets: WebhookSecrets,
    private readonly clock: Clock,
  ) {}

  /** Never throws: what cannot be sent is put off, and counts as no failure. */
  async send(message: OutgoingWebhook, signal: AbortSignal): Promise<AttemptDecision> {
    try {
      const startedMs = this.clock.monotonicMs();
      const outcome = await this.post(message, signal);
      const decision = evaluateAttempt(message, outcome, { now: this.clock.now(), random: Math.random() });
      if (outcome.kind === 'failed') return decision;
      const durationMs = Math.round(this.clock.monotonicMs() - startedMs);
      if (outcome.answer.body.length > SHORT_RESPONSE_BYTES) await EVENT_LOOP.next(message.organizationId);
      const response = toWebhookResponse(outcome.answer, durationMs);
      return { ...decision, settled: { ...decision.settled, response } };
    } catch (error) {
      const { endpointId, organizationId } = message;
      this.logger.error(
        `Webhook endpoint ${endpointId} of organization ${organizationId} is not sent to: ${reasonOf(error)}`,
      );
      const nextAttemptAt = new Date(this.clock.now().getTime() + UNSENDABLE_PAUSE_MS);
      return { settled: release(message, nextAttemptAt), result: 'unsendable', retryAfterMs: 0 };
    }
  }

  private post(message: OutgoingWebhook, signal: AbortSignal): Promise<EgressResult> {
    const { id, url, body, endpointId, organizationId } = message;
    const secrets = this.secrets.secretsInForce({ ...message, id: endpointId });
    const headers = { ...WEBHOOK_HEADERS, ...signWebhook({ id, sentAt: this.clock.now(), body }, secrets) };
    return this.client.post({ url: new URL(url), headers, body, signal, holder: organizationId });
  }
}

/** A claimed message with its event, as JSON. */
export type OutgoingWebhook = ClaimedMessage & { readonly body: string };

/** Undefined when the event that it is about is no more. */
export function toOutgoing(message: ClaimedMessage, event: FeedEvent | undefined): OutgoingWebhook | undefined {
  const body = payloadOf(message, event);
  return body === undefined ? undefined : { ...message, body };
}

export interface UnsignedWebhook {
  /** The same in every attempt, so that the receiver recognizes a repetition. */
  readonly id: string;
  /** Start of this attempt. */
  readonly sentAt: Date;
  readonly body: string;
}

/** The headers of Standard Webhooks 1.0, signed with HMAC-SHA256 once for each secret that is valid. */
export function signWebhook({ id, sentAt, body }: UnsignedWebhook, secrets: readonly Buffer[]): Record<string, string> {
  const timestamp = String(Math.floor(sentAt.getTime() / 1_000));
  const sign = (secret: Buffer) => createHmac('sha256', secret).update(`${id}.${timestamp}.${body}`).digest('base64');
  return {
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': secrets.map((secret) => `v1,${sign(secret)}`).join(' '),
  };
}

/** Others, like cookies and challenges, may hold secrets of the receiver. */
const KEPT_HEADERS: readonly string[] = [
  ...['content-type', 'content-length', 'date', 'location', 'retry-after', 'server', 'via', 'x-request-id', 'cf-ray'],
];
const MAX_HEADER_LENGTH = 300;

/** It may echo what it was sent, encoded in its own way. PostgreSQL keeps no NUL. */
function toStorable(text: string): string {
  return withoutEncodedAddresses(text.replaceAll('\0', '\uFFFD'));
}

/** The kept part of a receiver's response: named headers, texts without encoded addresses. */
export function toWebhookResponse({ headers, body, isCut }: EgressResponse, durationMs: number): WebhookResponse {
  const kept = KEPT_HEADERS.flatMap((name) => {
    const value = headers[name];
    return value === undefined ? [] : [[name, toStorable(value.slice(0, MAX_HEADER_LENGTH))] as const];
  });
  return { headers: Object.fromEntries(kept), body: toStorable(body.toString('utf8')), isCut, durationMs };
}
