import { Injectable, Logger } from '@nestjs/common';
import { EVENT_LOOP } from '../../../common/async/fair-turns';
import { Clock, MINUTE } from '../../../common/clock';
import { EgressClient, type EgressResult } from '../../../common/egress/egress-client';
import { toWebhookAnswer } from '../webhook-answer';
import { WEBHOOK_HEADERS } from '../webhook-payload';
import { WebhookSecrets } from '../webhook-secrets.service';
import { type AttemptDecision, evaluateAttempt, release } from './evaluate-attempt';
import { type OutgoingWebhook, signWebhook } from './outgoing-webhook';

/** A secret that does not open is the operator's mistake, anything else ours: it does not count against the endpoint. */
const UNSENDABLE_PAUSE_MS = MINUTE;
/** A longer answer takes a millisecond to be cleared of addresses: one in a turn, however many come together. */
const SHORT_ANSWER_BYTES = 128;

/** One attempt: signs, sends, and decides what the response means. */
@Injectable()
export class WebhookSender {
  private readonly logger = new Logger(WebhookSender.name);

  constructor(
    private readonly client: EgressClient,
    private readonly secrets: WebhookSecrets,
    private readonly clock: Clock,
  ) {}

  /** Never throws: what cannot be sent is put off, and counts against no one. */
  async send(message: OutgoingWebhook, signal: AbortSignal): Promise<AttemptDecision> {
    try {
      const startedMs = this.clock.monotonicMs();
      const outcome = await this.post(message, signal);
      const decision = evaluateAttempt(message, outcome, { now: this.clock.now(), random: Math.random() });
      if (outcome.kind === 'failed') return decision;
      const durationMs = Math.round(this.clock.monotonicMs() - startedMs);
      if (outcome.answer.body.length > SHORT_ANSWER_BYTES) await EVENT_LOOP.next(message.organizationId);
      const answer = toWebhookAnswer(outcome.answer, durationMs);
      return { ...decision, settled: { ...decision.settled, answer } };
    } catch (error) {
      this.logger.error(`Webhook endpoint ${message.endpointId} is not sent to: ${(error as Error).message}`);
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
