import { randomBytes } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { Clock } from '../../common/clock';
import { Keyring } from '../../common/encryption/keyring';
import { AppConfig } from '../../config/config';

/** Whose secret it is: authenticated with it, so that a ciphertext copied to another endpoint does not decrypt. */
export interface SecretOwner {
  readonly organizationId: string;
  readonly mode: string;
  readonly id: string;
}

export interface EndpointSecrets extends SecretOwner {
  readonly secret: Buffer;
  readonly previousSecret: Buffer | null;
  readonly previousSecretUntil: Date | null;
}

/** Standard Webhooks requires 24 to 64 bytes. */
const SECRET_BYTES = 32;

/**
 * The secrets that sign webhooks (Standard Webhooks, symmetric), encrypted at rest under the master key; those under the
 * previous one still decrypt.
 */
@Injectable()
export class WebhookSecrets {
  private readonly ring: Keyring;

  constructor(
    { masterKey, previousMasterKey }: AppConfig,
    private readonly clock: Clock,
  ) {
    this.ring = new Keyring('webhook-secret', { masterKey, previousMasterKey });
  }

  /** A new secret: 32 random bytes. */
  create(): Buffer {
    return randomBytes(SECRET_BYTES);
  }

  encrypt(secret: Buffer, owner: SecretOwner): Buffer {
    return this.ring.encrypt(secret, contextOf(owner));
  }

  /** @throws DecryptionError */
  decrypt(encrypted: Buffer, owner: SecretOwner): Buffer {
    return this.ring.decrypt(encrypted, contextOf(owner));
  }

  /** Whether it is encrypted under the present master key. */
  isCurrent(encrypted: Buffer): boolean {
    return this.ring.isCurrent(encrypted);
  }

  /** Those to sign with, the current one first; the one before as long as it is valid. @throws DecryptionError */
  secretsInForce(endpoint: EndpointSecrets): Buffer[] {
    const { secret, previousSecret, previousSecretUntil } = endpoint;
    const previous = previousSecretUntil && previousSecretUntil > this.clock.now() ? previousSecret : null;
    return [secret, ...(previous ? [previous] : [])].map((encrypted) => this.decrypt(encrypted, endpoint));
  }
}

/** As the customer sees it: `whsec_` and base64. */
export function showSecret(secret: Buffer): string {
  return `whsec_${secret.toString('base64')}`;
}

function contextOf({ organizationId, mode, id }: SecretOwner): string {
  return `${organizationId}|${mode}|${id}`;
}
