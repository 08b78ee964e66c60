import { Injectable } from '@nestjs/common';
import type { Transaction } from '../../database/transaction';
import { MailboxRepository } from './mailbox.repository';

/** Of up to 35 MiB each, nearly always of a few kB. */
const PAGE = 20;

/** Removes a person from the mailbox, which is one for the whole installation. */
@Injectable()
export class MailboxErasure {
  constructor(private readonly mailbox: MailboxRepository) {}

  /**
   * Deletes the messages of one page that went to the subject or show its address.
   * @returns how many, and where the next page begins; undefined after the last
   */
  async erase(
    subject: { readonly keys: readonly string[]; readonly pattern: string },
    page: { readonly after: string; readonly lastId: string },
    tx: Transaction,
  ): Promise<{ deleted: number; next: string | undefined }> {
    const { deleted, lastId } = await this.mailbox.deleteCopies(page, subject, PAGE, tx);
    return { deleted, next: lastId ?? undefined };
  }
}
