import { Injectable } from '@nestjs/common';
import { Database } from '../../../database/database.service';
import { listSealedKeys, type SealedKeyRow } from './sql/list-sealed-keys.sql';
import { replaceSealedKeys, type ResealedKey } from './sql/replace-sealed-keys.sql';

const PAGE = 100;

@Injectable()
export class SealedKeysRepository {
  constructor(private readonly database: Database) {}

  /** Some keys, always the same. */
  sample(limit: number): Promise<SealedKeyRow[]> {
    return this.database.run(listSealedKeys(limit));
  }

  /** All of them, in pages of at most 100. */
  async *pages(): AsyncGenerator<SealedKeyRow[]> {
    let page = await this.database.run(listSealedKeys(PAGE));
    while (page.length > 0) {
      yield page;
      page = await this.database.run(listSealedKeys(PAGE, page.at(-1)));
    }
  }

  /** Answers how many were still as they had been read. */
  async replace(keys: readonly ResealedKey[]): Promise<number> {
    return keys.length === 0 ? 0 : (await this.database.run(replaceSealedKeys(keys))).length;
  }
}
