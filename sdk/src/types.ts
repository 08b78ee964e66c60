import type { components, operations, webhooks } from './generated/api.js';

/** What is sent: an optional property may be `undefined`, which counts as absent, also under `exactOptionalPropertyTypes`. */
type Sent<T> = T extends readonly (infer I)[]
  ? Sent<I>[]
  : T extends object
    ? { [K in keyof T]: Sent<T[K]> | (object extends Pick<T, K> ? undefined : never) }
    : T;

/** The JSON of a request body. */
export type Body<O extends keyof operations> = operations[O] extends {
  requestBody?: { content: { 'application/json': infer B } };
}
  ? Sent<B>
  : never;

export type Query<O extends keyof operations> = Sent<NonNullable<operations[O]['parameters']['query']>>;

type Answer<O extends keyof operations> = {
  [S in keyof operations[O]['responses'] & (200 | 201 | 202)]: operations[O]['responses'][S] extends {
    content: { 'application/json': infer B };
  }
    ? B
    : never;
}[keyof operations[O]['responses'] & (200 | 201 | 202)];

/** The feed has the events of webhooks, which the document describes there. */
type Success<O extends keyof operations> = O extends 'events.pull'
  ? Omit<Answer<O>, 'data'> & { data: Exclude<WebhookEvent, { type: 'webhook.test' }>[] }
  : Answer<O>;

/** The result of a method: `data`, or the whole body where it has more; bytes for downloads. */
export type Result<O extends keyof operations> = operations[O]['responses'] extends {
  200: { content: { 'application/octet-stream': unknown } };
}
  ? Uint8Array
  : keyof Success<O> extends 'data'
    ? Success<O> extends { data: infer D }
      ? D
      : never
    : Success<O>;

export type Item<O extends keyof operations> =
  Success<O> extends { data: (infer I)[] | { requests: (infer I)[] } | { domains: (infer I)[] } } ? I : never;

type Send = Sent<components['schemas']['SendEmail']>;

/** A send whose html is made of a React element, by the `render` of the client. */
export type WithReact<B> = B extends (infer I)[]
  ? WithReact<I>[]
  : B extends Send
    ? B & { readonly react?: unknown }
    : B;

type Payload<P> = P extends { post: { requestBody: { content: { 'application/json': infer B } } } } ? B : never;

/** The payload of a webhook, distinguished by `type`. */
export type WebhookEvent = { [T in keyof webhooks]: Payload<webhooks[T]> }[keyof webhooks];
