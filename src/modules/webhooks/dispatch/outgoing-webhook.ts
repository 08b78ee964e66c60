import { createHmac } from 'node:crypto';
import type { FeedEvent } from '../../events/events.service';
import { payloadOf } from '../webhook-payload';
import type { ClaimedMessage } from '../webhook-queue';

/** A claimed message with what it says, as JSON. */
export type OutgoingWebhook = ClaimedMessage & { readonly body: string };

/** Undefined when the event that it is about is no more. */
export function toOutgoing(message: ClaimedMessage, event: FeedEvent | undefined): OutgoingWebhook | undefined {
  const body = payloadOf(message, event);
  return body === undefined ? undefined : { ...message, body };
}

export interface UnsignedWebhook {
  /** The same in every attempt, so that the receiver recognizes a repetition. */
  readonly id: string;
  /** When this attempt begins. */
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
