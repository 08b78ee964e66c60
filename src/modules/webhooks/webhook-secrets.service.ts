import { randomBytes } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { Clock } from '../../common/clock';
import { Keyring } from '../../common/encryption/keyring';
import { AppConfig } from '../../config/config';

/** Whose secret it is: part of the seal, so that a ciphertext copied to another endpoint does not open. */
export interface SecretOwner {
  readonly organizationId: string;
  readonly mode: string;
  readonly id: string;
}

export interface SealedSecrets extends SecretOwner {
  readonly secret: Buffer;
  readonly previousSecret: Buffer | null;
  readonly previousSecretUntil: Date | null;
}

/** Standard Webhooks asks for 24 to 64 bytes. */
const SECRET_BYTES = 32;

/**
 * The secrets that sign webhooks (Standard Webhooks, symmetric), sealed at rest under the master key; those sealed under
 * the previous one open as well.
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

  seal(secret: Buffer, owner: SecretOwner): Buffer {
    return this.ring.encrypt(secret, contextOf(owner));
  }

  /** @throws DecryptionError */
  open(sealed: Buffer, owner: SecretOwner): Buffer {
    return this.ring.decrypt(sealed, contextOf(owner));
  }

  /** Whether it is sealed under the present master key. */
  isCurrent(sealed: Buffer): boolean {
    return this.ring.isCurrent(sealed);
  }

  /** Those to sign with, the current one first; the one before as long as it is valid. @throws DecryptionError */
  secretsInForce(endpoint: SealedSecrets): Buffer[] {
    const { secret, previousSecret, previousSecretUntil } = endpoint;
    const previous = previousSecretUntil && previousSecretUntil > this.clock.now() ? previousSecret : null;
    return [secret, ...(previous ? [previous] : [])].map((sealed) => this.open(sealed, endpoint));
  }
}

/** As the customer sees it: `whsec_` and base64. */
export function showSecret(secret: Buffer): string {
  return `whsec_${secret.toString('base64')}`;
}

function contextOf({ organizationId, mode, id }: SecretOwner): string {
  return `${organizationId}|${mode}|${id}`;
}
