import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { type FindOptionsWhere, Raw, type Repository } from 'typeorm';
import { concatInTurns } from '../../common/mime/body-parts';
import { Database } from '../../database/pool/database.service';
import type { Transaction } from '../../database/statements/transaction';
import { MailboxMessage, type NewMailboxMessage } from './mailbox-message.entity';
import {
  deleteCopies,
  findCopies,
  insertMessages,
  type KeptCopy,
  type CopiesPage,
  readCopyPart,
  trimMessages,
} from './sql/mailbox-messages.sql';

/** Bytes per query; the driver receives twice as much text. */
const PART_BYTES = 1024 * 1024;
const WITHOUT_RAW = {
  id: true,
  receivedAt: true,
  returnPath: true,
  recipients: true,
  sender: true,
  subject: true,
  size: true,
} as const;

/** The messages in the mailbox of local mode, of which only the newest are kept. */
@Injectable()
export class MailboxRepository {
  constructor(
    private readonly database: Database,
    @InjectRepository(MailboxMessage) private readonly messages: Repository<MailboxMessage>,
  ) {}

  /** Inserts all of the messages or none. */
  async insert(messages: readonly NewMailboxMessage[]): Promise<void> {
    await this.database.run(insertMessages(messages));
  }

  async trim(maxMessages: number, maxBytes: number): Promise<void> {
    await this.database.run(trimMessages(maxMessages, maxBytes));
  }

  /** The next messages of the organization, and of no organization, in the order of ids. */
  findCopies(organizationId: string, page: CopiesPage, limit: number): Promise<KeptCopy[]> {
    return this.database.run(findCopies(organizationId, page, limit));
  }

  /** A part of a message; empty beyond its end. @param from the first byte, from 1 */
  private async readPart(id: string, from: number): Promise<Buffer> {
    const [row] = await this.database.run(readCopyPart(id, from, PART_BYTES));
    return row?.part ?? Buffer.alloc(0);
  }

  /** Returns the number of deleted messages. */
  async delete(ids: readonly string[], tx: Transaction): Promise<number> {
    return ids.length > 0 ? (await tx.run(deleteCopies(ids))).length : 0;
  }

  /** Newest first, without the bytes. @param search text in the sender, a recipient or the subject, ignoring case */
  listNewest(limit: number, offset = 0, search = ''): Promise<MailboxMessage[]> {
    const page = { order: { id: 'DESC' }, take: limit, skip: offset } as const;
    return this.messages.find({ select: WITHOUT_RAW, where: matching(search), ...page });
  }

  count(search = ''): Promise<number> {
    return this.messages.countBy(matching(search));
  }

  /** Returns false when there is no such message. */
  async deleteOne(id: string): Promise<boolean> {
    return ((await this.messages.delete({ id })).affected ?? 0) > 0;
  }

  async deleteAll(): Promise<void> {
    await this.messages.deleteAll();
  }

  /** The message with its bytes. */
  async find(id: string): Promise<MailboxMessage | null> {
    const found = await this.messages.findOne({ select: WITHOUT_RAW, where: { id } });
    return found && { ...found, raw: await this.readBytes(found) };
  }

  /** Reads the bytes in parts: as a whole the driver would convert twice as much text in one turn of the event loop. */
  async readBytes({ id, size }: { readonly id: string; readonly size: number }): Promise<Buffer> {
    const parts: Buffer[] = [];
    for (let from = 1; from <= size; from += PART_BYTES) parts.push(await this.readPart(id, from));
    return concatInTurns(parts, 'mailbox');
  }
}

/** A search without an index: there are some thousand messages at most. */
function matching(search: string): FindOptionsWhere<MailboxMessage>[] {
  if (search === '') return [{}];
  const contains = (column: string) => `position(lower(:search) in lower(${column})) > 0`;
  return [
    { sender: Raw((column) => contains(column), { search }) },
    { subject: Raw((column) => contains(column), { search }) },
    { recipients: Raw((column) => contains(`array_to_string(${column}, ' ')`), { search }) },
  ];
}

export type { KeptCopy, CopiesPage };
