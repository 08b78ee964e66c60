import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import type { Repository } from 'typeorm';
import { Database } from '../../database/database.service';
import type { Transaction } from '../../database/transaction';
import { MailboxMessage, type NewMailboxMessage } from './mailbox-message.entity';
import {
  deleteCopies,
  type DeletedCopies,
  insertMessages,
  type MailboxPage,
  trimMessages,
} from './sql/mailbox-messages.sql';

const WITHOUT_RAW = {
  id: true,
  receivedAt: true,
  returnPath: true,
  recipients: true,
  sender: true,
  subject: true,
  size: true,
} as const;

@Injectable()
export class MailboxRepository {
  constructor(
    private readonly database: Database,
    @InjectRepository(MailboxMessage) private readonly messages: Repository<MailboxMessage>,
  ) {}

  /** All of them or none. */
  async insert(messages: readonly NewMailboxMessage[]): Promise<void> {
    await this.database.run(insertMessages(messages));
  }

  async trim(maxMessages: number, maxBytes: number): Promise<void> {
    await this.database.run(trimMessages(maxMessages, maxBytes));
  }

  async deleteCopies(
    page: MailboxPage,
    subject: { readonly keys: readonly string[]; readonly pattern: string },
    limit: number,
    tx: Transaction,
  ): Promise<DeletedCopies> {
    const [row] = await tx.run(deleteCopies(page, subject, limit));
    return row ?? { deleted: 0, lastId: null };
  }

  /** Newest first, without the bytes. */
  listNewest(limit: number, offset = 0): Promise<MailboxMessage[]> {
    return this.messages.find({ select: WITHOUT_RAW, order: { id: 'DESC' }, take: limit, skip: offset });
  }

  count(): Promise<number> {
    return this.messages.count();
  }

  /** With the bytes. */
  find(id: string): Promise<MailboxMessage | null> {
    return this.messages.findOne({ select: { ...WITHOUT_RAW, raw: true }, where: { id } });
  }
}
