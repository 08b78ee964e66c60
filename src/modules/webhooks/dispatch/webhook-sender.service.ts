import { Injectable, Logger } from '@nestjs/common';
import { Clock, MINUTE } from '../../../common/clock';
import { EgressClient, type EgressResult } from '../../../common/egress/egress-client';
import { WebhookSecrets } from '../webhook-secrets.service';
import type { OutgoingWebhook } from './outgoing-webhook';
import { signWebhook } from './sign-webhook';
import { judgeAttempt, release, type Verdict } from './verdict';

const HEADERS = { 'content-type': 'application/json', 'user-agent': 'Waybill-Webhooks/1.0' };
/** A secret that does not open is the operator's mistake, anything else ours: the endpoint does not pay for it. */
const UNSENDABLE_PAUSE_MS = MINUTE;

/** One attempt: signs, sends, judges. */
@Injectable()
export class WebhookSender {
  private readonly logger = new Logger(WebhookSender.name);

  constructor(
    private readonly client: EgressClient,
    private readonly secrets: WebhookSecrets,
    private readonly clock: Clock,
  ) {}

  /** Never throws: what cannot be sent is put off, at nobody's cost. */
  async send(message: OutgoingWebhook, signal: AbortSignal): Promise<Verdict> {
    try {
      const outcome = await this.post(message, signal);
      return judgeAttempt(message, outcome, { now: this.clock.now(), random: Math.random() });
    } catch (error) {
      this.logger.error(`Webhook endpoint ${message.endpointId} is not sent to: ${(error as Error).message}`);
      const nextAttemptAt = new Date(this.clock.now().getTime() + UNSENDABLE_PAUSE_MS);
      return { settled: release(message, nextAttemptAt), result: 'unsendable', askedMs: 0 };
    }
  }

  private post(message: OutgoingWebhook, signal: AbortSignal): Promise<EgressResult> {
    const { id, url, body, endpointId } = message;
    const secrets = this.secrets.secretsInForce({ ...message, id: endpointId });
    const headers = { ...HEADERS, ...signWebhook({ id, sentAt: this.clock.now(), body }, secrets) };
    return this.client.post({ url: new URL(url), headers, body, signal });
  }
}
