import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import type { Repository } from 'typeorm';
import { Database } from '../../database/database.service';
import type { Transaction } from '../../database/transaction';
import { MailboxMessage, type NewMailboxMessage } from './mailbox-message.entity';
import {
  deleteCopies,
  findCopies,
  insertMessages,
  type KeptCopy,
  type MailboxPage,
  readCopyPart,
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

  /** The organization's, and those of nobody, in order. */
  findCopies(organizationId: string, page: MailboxPage, limit: number): Promise<KeptCopy[]> {
    return this.database.run(findCopies(organizationId, page, limit));
  }

  /** Empty beyond its end. @param from the first byte, from 1 */
  async readPart(id: string, from: number, length: number): Promise<Buffer> {
    const [row] = await this.database.run(readCopyPart(id, from, length));
    return row?.part ?? Buffer.alloc(0);
  }

  /** Returns how many there were. */
  async delete(ids: readonly string[], tx: Transaction): Promise<number> {
    return ids.length > 0 ? (await tx.run(deleteCopies(ids))).length : 0;
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

export type { KeptCopy, MailboxPage };
