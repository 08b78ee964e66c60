import { Injectable } from '@nestjs/common';
import { Database } from '../../database/database.service';
import type { EmailKey } from '../../delivery/ports/delivery';
import { type LoadedMessage, loadMessages } from './sql/load-messages.sql';

@Injectable()
export class OutgoingMessagesRepository {
  constructor(private readonly database: Database) {}

  findForComposing(emails: readonly EmailKey[]): Promise<LoadedMessage[]> {
    return this.database.run(loadMessages(emails));
  }
}
