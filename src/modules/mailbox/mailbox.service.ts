import { Injectable } from '@nestjs/common';
import { NotFoundError } from '../../common/errors/app-error';
import type { MailboxMessage } from './mailbox-message.entity';
import { MailboxRepository } from './mailbox.repository';
import { withInlineImages } from '../../common/mime/inline-images';
import { type HeaderField, type MessageContent, type MessagePart, parseMessage, readHead } from './message-reader';

/** What is known of a message without opening it. */
export type ListedMessage = Omit<MailboxMessage, 'organizationId' | 'raw'>;

export interface MailboxPage {
  readonly messages: readonly ListedMessage[];
  /** From 1. */
  readonly page: number;
  /** At least 1. */
  readonly pageCount: number;
  readonly total: number;
  /** What was looked for; empty for everything. */
  readonly search: string;
}

export interface OpenMessage {
  readonly message: ListedMessage;
  readonly head: readonly HeaderField[];
  readonly content: MessageContent;
}

const PAGE_SIZE = 50;
const NEWEST = 100;
/** The mailbox, which is one for the whole installation, as its pages read it. */
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
