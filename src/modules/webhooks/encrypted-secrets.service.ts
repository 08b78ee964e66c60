import { Injectable } from '@nestjs/common';
import { Clock } from '../../common/clock';
import { AppConfig } from '../../config/config';
import type { EncryptedSecrets } from './sql/encrypted-secrets.sql';
import { WebhookEndpointsRepository } from './webhook-endpoints.repository';
import { WebhookSecrets } from './webhook-secrets.service';

const PAGE = 100;

/** The secrets of all organizations' webhooks, as they are stored: for whoever looks after the master key. */
@Injectable()
export class EncryptedSecretsService {
  constructor(
    private readonly endpoints: WebhookEndpointsRepository,
    private readonly config: AppConfig,
    private readonly clock: Clock,
  ) {}

  /** The secrets of the time after a change to this master key: what is sealed under the present one still opens. */
  secretsUnder(masterKey: Buffer): WebhookSecrets {
    const { config } = this;
    const previousMasterKey = masterKey.equals(config.masterKey) ? config.previousMasterKey : config.masterKey;
    return new WebhookSecrets({ ...config, masterKey, previousMasterKey }, this.clock);
  }

  /** Counts all endpoints, and names those whose secrets do not open. Changes nothing. */
  async examine(secrets: WebhookSecrets): Promise<{ webhooks: number; closed: string[] }> {
    let webhooks = 0;
    const closed: string[] = [];
    for await (const page of this.pages()) {
      webhooks += page.length;
      closed.push(...page.filter((row) => !opens(secrets, row)).map(({ id }) => id));
    }
    return { webhooks, closed };
  }

  /**
   * Seals again what is not sealed under the present master key of `secrets`; answers for how many endpoints. It can be
   * repeated; those who still seal under the old key meanwhile are caught up with.
   * @throws DecryptionError for a secret that does not open
   */
  async reseal(secrets: WebhookSecrets): Promise<number> {
    let total = 0;
    for (;;) {
      const resealed = await this.resealOnce(secrets);
      if (resealed === 0) return total;
      total += resealed;
    }
  }

  private async resealOnce(secrets: WebhookSecrets): Promise<number> {
    let resealed = 0;
    for await (const page of this.pages()) {
      const outdated = page.filter((row) => sealedOf(row).some((sealed) => !secrets.isCurrent(sealed)));
      resealed += await this.endpoints.replaceSecrets(
        outdated.map((row) => ({ ...row, encrypted: sealAgain(secrets, row) })),
      );
    }
    return resealed;
  }

  private async *pages(): AsyncGenerator<EncryptedSecrets[]> {
    let page = await this.endpoints.encryptedSecrets(PAGE);
    while (page.length > 0) {
      yield page;
      page = await this.endpoints.encryptedSecrets(PAGE, page.at(-1));
    }
  }
}

function sealAgain(secrets: WebhookSecrets, row: EncryptedSecrets) {
  const again = (sealed: Buffer) => secrets.seal(secrets.open(sealed, row), row);
  return { secret: again(row.secret), previousSecret: row.previousSecret && again(row.previousSecret) };
}

function sealedOf({ secret, previousSecret }: EncryptedSecrets): Buffer[] {
  return previousSecret ? [secret, previousSecret] : [secret];
}

function opens(secrets: WebhookSecrets, row: EncryptedSecrets): boolean {
  try {
    for (const sealed of sealedOf(row)) secrets.open(sealed, row);
    return true;
  } catch {
    return false;
  }
}
