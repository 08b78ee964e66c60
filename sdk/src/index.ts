import { brand, isBranded } from './brand.js';
import { Core, type WaybillOptions } from './core.js';
import { Resources, Webhooks as WebhookRoutes } from './generated/resources.js';
import { verifyWebhook } from './verify-webhook.js';

class Webhooks extends WebhookRoutes {
  /** Checks a webhook and returns its event. @see verifyWebhook */
  readonly verify = verifyWebhook;
}

/** The API of a Waybill service, a method for each of its routes. */
export class Waybill extends Resources {
  static {
    brand(this, 'Waybill');
  }
  static [Symbol.hasInstance](value: unknown): boolean {
    return isBranded(this, value);
  }

  override readonly webhooks: Webhooks;

  constructor(options: WaybillOptions) {
    const core = new Core(options);
    super(core);
    this.webhooks = new Webhooks(core);
  }
}

export type { RequestOptions, WaybillOptions } from './core.js';
export type { Download } from './download.js';
export * from './errors.js';
export { OPERATIONS } from './generated/resources.js';
export type { components, operations } from './generated/api.js';
export type { Body, Item, Query, Result, WebhookEvent, WithReact } from './types.js';
export { verifyWebhook, type WebhookHeaders } from './verify-webhook.js';
