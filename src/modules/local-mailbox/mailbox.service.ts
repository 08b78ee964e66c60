import { Injectable } from '@nestjs/common';
import type { AddressFinder } from '../../common/erasure/address-finder';
import { bytesHold } from '../../common/erasure/byte-search';
import { NotFoundError } from '../../common/errors/app-error';
import { withInlineImages } from '../../common/mime/inline-images';
import type { Transaction } from '../../database/statements/transaction';
import type { MailboxMessage } from './mailbox-message.entity';
import { type CopiesPage, MailboxRepository } from './mailbox.repository';
import { type HeaderField, type MessageContent, type MessagePart, parseMessage, readHead } from './message-reader';

/** The stored columns of a message, without its bytes. */
export type ListedMessage = Omit<MailboxMessage, 'organizationId' | 'raw'>;

export interface MailboxPage {
  readonly messages: readonly ListedMessage[];
  /** From 1. */
  readonly page: number;
  /** At least 1. */
  readonly pageCount: number;
  readonly total: number;
  /** The search text; empty for everything. */
  readonly search: string;
}

export interface OpenMessage {
  readonly message: ListedMessage;
  readonly head: readonly HeaderField[];
  readonly content: MessageContent;
}

const PAGE_SIZE = 50;
const NEWEST = 100;

/** Reads the mailbox, which the whole installation shares, for its pages. */
@Injectable()
export class MailboxService {
  constructor(private readonly mailbox: MailboxRepository) {}

  /** A page beyond the last is empty. */
  async list(page: number, search = ''): Promise<MailboxPage> {
    const [messages, total] = await Promise.all([
      this.mailbox.listNewest(PAGE_SIZE, (page - 1) * PAGE_SIZE, search),
      this.mailbox.count(search),
    ]);
    return { messages, page, pageCount: Math.max(1, Math.ceil(total / PAGE_SIZE)), total, search };
  }

  /** @throws NotFoundError */
  async delete(id: string): Promise<void> {
    if (!(await this.mailbox.deleteOne(id))) throw new NotFoundError('Message');
  }

  deleteAll(): Promise<void> {
    return this.mailbox.deleteAll();
  }

  newest(): Promise<readonly ListedMessage[]> {
    return this.mailbox.listNewest(NEWEST);
  }

  /** @throws NotFoundError */
  async open(id: string): Promise<OpenMessage> {
    const message = await this.require(id);
    return { message, head: readHead(message.raw), content: await parseMessage(message.raw) };
  }

  /** @throws NotFoundError, also for a message without html */
  async html(id: string): Promise<string> {
    const { content } = await this.open(id);
    if (content.kind !== 'parts' || content.html === undefined) throw new NotFoundError('Html');
    return withInlineImages(content.html, content.attachments);
  }

  /** @throws NotFoundError */
  async raw(id: string): Promise<Buffer> {
    return (await this.require(id)).raw;
  }

  /** @throws NotFoundError */
  async attachment(id: string, index: number): Promise<MessagePart> {
    const { content } = await this.open(id);
    const part = content.kind === 'parts' ? content.attachments[index] : undefined;
    if (!part) throw new NotFoundError('Attachment');
    return part;
  }

  private async require(id: string): Promise<MailboxMessage> {
    const message = await this.mailbox.find(id);
    if (!message) throw new NotFoundError('Message');
    return message;
  }
}

/** The data subject whose copies are deleted. */
export interface ErasedOwner {
  readonly organizationId: string;
  /** Forms of the address in lower case. */
  readonly keys: readonly string[];
  readonly finder: AddressFinder;
}

export interface FoundCopies {
  readonly ids: readonly string[];
  /** Start of the next page; undefined after the last. */
  readonly next: string | undefined;
}

/** Bytes searched for one page, unless a single message has more. */
const PAGE_BYTES = 16 * 1024 * 1024;
const PAGE = 20;

/** Deletes a data subject's mail among what an organization has sent to the mailbox, and among mail of no organization. */
@Injectable()
export class MailboxErasureService {
  constructor(private readonly mailbox: MailboxRepository) {}

  /** Ids of the messages of one page that went to the subject or contain their address. @throws UnavailableError */
  async find({ organizationId, keys, finder }: ErasedOwner, page: CopiesPage): Promise<FoundCopies> {
    const copies = await this.mailbox.findCopies(organizationId, page, PAGE);
    const ids: string[] = [];
    let [bytes, last] = [0, undefined as string | undefined];
    for (const copy of copies) {
      if (bytes > 0 && bytes + copy.size > PAGE_BYTES) break;
      bytes += copy.size;
      last = copy.id;
      const isRecipient = copy.recipients.some((address) => keys.includes(address.toLowerCase()));
      if (isRecipient || (await bytesHold(finder, await this.mailbox.readBytes(copy)))) ids.push(copy.id);
    }
    return { ids, next: last };
  }

  /** Returns the number of deleted messages. */
  delete(ids: readonly string[], tx: Transaction): Promise<number> {
    return this.mailbox.delete(ids, tx);
  }
}
