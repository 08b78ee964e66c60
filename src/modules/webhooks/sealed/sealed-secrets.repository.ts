import { Injectable } from '@nestjs/common';
import { Database } from '../../../database/database.service';
import { listSealedSecrets, type SealedSecretRow } from './sql/list-sealed-secrets.sql';
import { replaceSealedSecrets, type ResealedSecrets } from './sql/replace-sealed-secrets.sql';

const PAGE = 100;

@Injectable()
export class SealedSecretsRepository {
  constructor(private readonly database: Database) {}

  /** Those of all endpoints, in pages of at most 100. */
  async *pages(): AsyncGenerator<SealedSecretRow[]> {
    let page = await this.database.run(listSealedSecrets(PAGE));
    while (page.length > 0) {
      yield page;
      page = await this.database.run(listSealedSecrets(PAGE, page.at(-1)));
    }
  }

  /** Answers of how many endpoints they were still as they had been read. */
  async replace(rows: readonly ResealedSecrets[]): Promise<number> {
    return rows.length === 0 ? 0 : (await this.database.run(replaceSealedSecrets(rows))).length;
  }
}
