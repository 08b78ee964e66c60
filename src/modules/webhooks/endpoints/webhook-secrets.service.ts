import { randomBytes } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { Clock } from '../../../common/clock';
import { DecryptionError, Keyring, UnknownKeyError } from '../../../common/encryption/encryption';
import { type EncryptedRecords, masterKeysAfter } from '../../../common/encryption/re-encrypt';
import { AppConfig } from '../../../config/config';
import type { EncryptedSecrets } from '../queue/sql/webhook-endpoints.sql';
import { WebhookEndpointsRepository } from '../queue/webhook-endpoints.repository';

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

  /** Whether no key will ever decrypt it; one under a key that this process does not have is not damaged. */
  isDamaged(encrypted: Buffer, owner: SecretOwner): boolean {
    try {
      this.decrypt(encrypted, owner);
      return false;
    } catch (error) {
      return error instanceof DecryptionError && !(error instanceof UnknownKeyError);
    }
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

const PAGE = 100;

/** The secrets of all organizations' webhooks, for a change of the master key. */
@Injectable()
export class EncryptedSecretsService {
  constructor(
    private readonly endpoints: WebhookEndpointsRepository,
    private readonly config: AppConfig,
    private readonly clock: Clock,
  ) {}

  /** One record for each endpoint, which may hold two secrets. @param masterKey the one after the change */
  recordsUnder(masterKey: Buffer): EncryptedRecords<EncryptedSecrets> {
    const secrets = new WebhookSecrets({ ...this.config, ...masterKeysAfter(masterKey, this.config) }, this.clock);
    return {
      rows: () => this.rows(),
      nameOf: ({ id }) => id,
      isCurrent: (row) => secretsOf(row).every((secret) => secrets.isCurrent(secret)),
      decrypt: (row) => secretsOf(row).map((secret) => secrets.decrypt(secret, row)),
      reEncrypt: (row) => this.reEncrypt(row, secrets),
    };
  }

  private async *rows(): AsyncGenerator<EncryptedSecrets> {
    let page = await this.endpoints.encryptedSecrets(PAGE);
    while (page.length > 0) {
      yield* page;
      page = await this.endpoints.encryptedSecrets(PAGE, page.at(-1));
    }
  }

  private reEncrypt(row: EncryptedSecrets, secrets: WebhookSecrets): Promise<boolean> {
    const again = (secret: Buffer) => secrets.encrypt(secrets.decrypt(secret, row), row);
    const previousSecret = row.previousSecret && again(row.previousSecret);
    return this.endpoints.replaceSecrets(row, { secret: again(row.secret), previousSecret });
  }
}

function secretsOf({ secret, previousSecret }: EncryptedSecrets): Buffer[] {
  return previousSecret ? [secret, previousSecret] : [secret];
}
