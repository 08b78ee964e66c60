import type { EgressResponse } from '../../common/egress/egress-client';
import { withoutEncodedAddresses } from '../../common/erasure/without-addresses';

/** The response of a receiver, as far as it is kept: what helps to find out why it refuses, and no secret. */
export interface WebhookResponse {
  readonly headers: Readonly<Record<string, string>>;
  /** The first part. */
  readonly body: string;
  /** Whether the body was longer. */
  readonly isCut: boolean;
  readonly durationMs: number;
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
