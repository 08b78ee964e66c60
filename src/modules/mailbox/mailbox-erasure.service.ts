import { Injectable } from '@nestjs/common';
import type { AddressFinder } from '../../common/erasure/address-finder';
import { bytesHold } from '../../common/erasure/byte-search';
import type { Transaction } from '../../database/transaction';
import { type MailboxPage, MailboxRepository } from './mailbox.repository';

/** Whose copies go, and where they are looked for. */
export interface ErasedOwner {
  readonly organizationId: string;
  /** Forms of the address in lower case. */
  readonly keys: readonly string[];
  readonly finder: AddressFinder;
}

export interface FoundCopies {
  readonly ids: readonly string[];
  /** Where the next page begins; undefined after the last. */
  readonly next: string | undefined;
}

/** Looked through for one page, unless a single message has more. */
const PAGE_BYTES = 16 * 1024 * 1024;
const PAGE = 20;

/** Removes a person from what an organization has sent to the mailbox, and from mail that belongs to no organization. */
@Injectable()
export class MailboxErasureService {
  constructor(private readonly mailbox: MailboxRepository) {}

  /** The messages of one page that went to the subject or show its address. @throws UnavailableError */
  async find({ organizationId, keys, finder }: ErasedOwner, page: MailboxPage): Promise<FoundCopies> {
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

  /** Returns how many there were. */
  delete(ids: readonly string[], tx: Transaction): Promise<number> {
    return this.mailbox.delete(ids, tx);
  }
}
