import { Injectable } from '@nestjs/common';
import { Database } from '../../database/database.service';
import { readServerFacts, type ServerFacts } from './sql/read-server-facts.sql';

/** What the database server says of itself. */
@Injectable()
export class ServerFactsRepository {
  constructor(private readonly database: Database) {}

  async read(): Promise<ServerFacts> {
    const [facts] = await this.database.run(readServerFacts());
    if (!facts) throw new Error('the database answered nothing');
    return facts;
  }
}
