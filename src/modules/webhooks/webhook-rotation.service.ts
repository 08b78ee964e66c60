import { Injectable } from '@nestjs/common';
import { Clock, HOUR } from '../../common/clock';
import { WebhookChanges } from './webhook-changes.service';
import type { CreatedWebhook } from './webhook-creation.service';
import { type WebhookHolder, WebhookEndpointsRepository } from './webhook-endpoints.repository';
import { showSecret, WebhookSecrets } from './webhook-secrets.service';

/** Receivers check signatures with either secret meanwhile. */
export const SECRET_OVERLAP_MS = 24 * HOUR;

/** Replaces the secrets of endpoints. */
@Injectable()
export class WebhookRotation {
  constructor(
    private readonly endpoints: WebhookEndpointsRepository,
    private readonly changes: WebhookChanges,
    private readonly secrets: WebhookSecrets,
    private readonly clock: Clock,
  ) {}

  /** The secret before signs for another 24 hours, the one before that no longer. @throws NotFoundError */
  rotate(holder: WebhookHolder, id: string): Promise<CreatedWebhook> {
    const secret = this.secrets.create();
    return this.changes.change(holder, id, { action: 'webhook.secret_rotated' }, async (endpoint, tx) => {
      const now = this.clock.now();
      const change = {
        secret: this.secrets.seal(secret, endpoint),
        previousSecret: endpoint.secret,
        previousSecretUntil: new Date(now.getTime() + SECRET_OVERLAP_MS),
        updatedAt: now,
      };
      await this.endpoints.update(endpoint, change, tx);
      return { endpoint: { ...endpoint, ...change }, secret: showSecret(secret) };
    });
  }
}
