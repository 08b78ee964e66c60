import { Injectable } from '@nestjs/common';
import { Database } from '../../../database/database.service';
import { findKeyByName, type KnownKey } from './sql/find-key-by-name.sql';

@Injectable()
export class KnownKeysRepository {
  constructor(private readonly database: Database) {}

  async find(domain: string, selector: string): Promise<KnownKey | undefined> {
    return (await this.database.run(findKeyByName(domain, selector)))[0];
  }
}
