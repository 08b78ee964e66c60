import { Injectable } from '@nestjs/common';
import { Clock } from '../../common/clock';
import { type EncryptedRecords, masterKeysAfter } from '../../common/encryption/re-encrypt';
import { AppConfig } from '../../config/config';
import type { EncryptedSecrets } from './sql/webhook-endpoints.sql';
import { WebhookEndpointsRepository } from './webhook-endpoints.repository';
import { WebhookSecrets } from './webhook-secrets.service';

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
