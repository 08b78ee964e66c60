import { Injectable } from '@nestjs/common';
import { Database } from '../../database/database.service';
import type { DeliveryKey } from '../../delivery/ports/delivery';
import type { MailRecipient } from './mail-recipient';
import { findMailRecipients } from './sql/find-mail-recipients.sql';

@Injectable()
export class RecipientLookupRepository {
  constructor(private readonly database: Database) {}

  /** In any order; unknown ones are left out. */
  find(keys: readonly DeliveryKey[]): Promise<MailRecipient[]> {
    return this.database.run(findMailRecipients(keys));
  }
}
