import { WebhookVerificationError } from './errors.js';
import type { WebhookEvent } from './types.js';

/** Of a request: those of fetch, of whichever implementation, or of Node and its frameworks. */
export type WebhookHeaders = FetchHeaders | Readonly<Record<string, string | readonly string[] | undefined>>;
type FetchHeaders = Pick<Headers, 'get'>;

/** Either way from now, against recordings of old requests. */
const TOLERANCE_SECONDS = 5 * 60;

/**
 * Checks a webhook as Standard Webhooks 1.0 defines, and returns its event.
 *
 * @param payload the body as it came, not parsed
 * @param secret `whsec_…`; several while one is being replaced
 * @throws WebhookVerificationError
 */
export async function verifyWebhook(
  payload: string | Uint8Array,
  headers: WebhookHeaders,
  secret: string | readonly string[],
): Promise<WebhookEvent> {
  const id = header(headers, 'webhook-id');
  const timestamp = header(headers, 'webhook-timestamp');
  const given = header(headers, 'webhook-signature')
    .split(' ')
    .filter((signature) => signature.startsWith('v1,'))
    .map((signature) => signature.slice(3));
  if (!/^\d{1,12}$/.test(timestamp) || Math.abs(Date.now() / 1_000 - Number(timestamp)) > TOLERANCE_SECONDS) {
    throw new WebhookVerificationError('The time of the webhook is too far from now');
  }
  const body = typeof payload === 'string' ? payload : new TextDecoder().decode(payload);
  for (const each of [secret].flat()) {
    const expected = await sign(`${id}.${timestamp}.${body}`, each);
    if (given.some((signature) => isEqual(signature, expected))) return parse(body);
  }
  throw new WebhookVerificationError('The signature of the webhook does not fit');
}

function header(headers: WebhookHeaders, name: string): string {
  const value = isOfFetch(headers) ? headers.get(name) : valueIn(headers, name);
  if (typeof value !== 'string' || value === '') throw new WebhookVerificationError(`The header ${name} is missing`);
  return value;
}

/** By what it can do: a program may have several classes of this name. */
function isOfFetch(headers: WebhookHeaders): headers is FetchHeaders {
  return typeof headers.get === 'function';
}

function valueIn(headers: Exclude<WebhookHeaders, FetchHeaders>, name: string): string | undefined {
  const entry = Object.entries(headers).find(([key]) => key.toLowerCase() === name);
  return [entry?.[1]].flat()[0];
}

async function sign(content: string, secret: string): Promise<string> {
  const bytes = Uint8Array.from(decoded(secret.replace(/^whsec_/, '')), (letter) => letter.charCodeAt(0));
  const key = await crypto.subtle.importKey('raw', bytes, { name: 'HMAC', hash: 'SHA-256' }, false, ['sign']);
  const signature = await crypto.subtle.sign('HMAC', key, new TextEncoder().encode(content));
  return btoa(String.fromCharCode(...new Uint8Array(signature)));
}

function decoded(secret: string): string {
  try {
    return atob(secret);
  } catch (error) {
    throw new WebhookVerificationError('The secret is none: it is whsec_ and base64', { cause: error });
  }
}

/** Takes as long whatever differs. */
function isEqual(one: string, other: string): boolean {
  if (one.length !== other.length) return false;
  let difference = 0;
  for (let at = 0; at < one.length; at += 1) difference |= one.charCodeAt(at) ^ other.charCodeAt(at);
  return difference === 0;
}

function parse(body: string): WebhookEvent {
  try {
    return JSON.parse(body) as WebhookEvent;
  } catch (error) {
    throw new WebhookVerificationError('The body of the webhook is no JSON', { cause: error });
  }
}
