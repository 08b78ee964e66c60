import { Injectable } from '@nestjs/common';
import type { Transaction } from '../../../database/transaction';
import { lockEmails } from '../sql/lock-emails.sql';
import { cleanAttachments, cleanContents, deleteContents } from './sql/erase-contents.sql';
import { eraseEmails, type ErasedEmail } from './sql/erase-emails.sql';
import { eraseEvents } from './sql/erase-events.sql';
import { eraseRecipients } from './sql/erase-recipients.sql';
import { eraseResponses, type KeyPlace } from './sql/erase-responses.sql';
import type { ErasedSubject } from './sql/erased.sql';
import { findReceived, type IdPage, type ReceivedRow } from './sql/find-received.sql';
import { findSenders, type SenderPage } from './sql/find-senders.sql';

/** An email to be erased; `position` is the subject's among the recipients, null when it is none of them. */
export interface NamedEmail {
  readonly emailId: string;
  readonly position: number | null;
}

@Injectable()
export class EmailErasureRepository {
  findReceived(subject: ErasedSubject, page: IdPage, limit: number, tx: Transaction): Promise<ReceivedRow[]> {
    return tx.run(findReceived(subject, page, limit));
  }

  async findSenders(subject: ErasedSubject, page: IdPage, limit: number, tx: Transaction): Promise<SenderPage> {
    const [found] = await tx.run(findSenders(subject, page, limit));
    return found ?? { ids: [], lastId: null };
  }

  /** Until the transaction ends nobody else writes what happens to them. */
  async lock({ organizationId, mode }: ErasedSubject, emails: readonly NamedEmail[], tx: Transaction): Promise<void> {
    await tx.run(lockEmails(emails.map(({ emailId }) => ({ organizationId, mode, emailId }))));
  }

  eraseRecipients(subject: ErasedSubject, emails: readonly NamedEmail[], tx: Transaction): void {
    tx.write(eraseRecipients(subject, emails));
  }

  eraseEmails(
    subject: ErasedSubject,
    emails: readonly NamedEmail[],
    now: Date,
    tx: Transaction,
  ): Promise<ErasedEmail[]> {
    return tx.run(eraseEmails(subject, emails, now));
  }

  /** Answers how many contents were deleted. */
  async eraseContents(subject: ErasedSubject, emails: readonly ErasedEmail[], tx: Transaction): Promise<number> {
    const idsOf = (isSole: boolean) => emails.filter((email) => email.isSole === isSole).map(({ id }) => id);
    const [sole, shared] = [idsOf(true), idsOf(false)];
    if (shared.length > 0) {
      tx.write(cleanContents(subject, shared));
      tx.write(cleanAttachments(subject, shared));
    }
    return sole.length > 0 ? (await tx.run(deleteContents(subject, sole))).length : 0;
  }

  /** Answers how many were changed. */
  async eraseEvents(subject: ErasedSubject, emails: readonly NamedEmail[], tx: Transaction): Promise<number> {
    return (await tx.run(eraseEvents(subject, emails))).length;
  }

  /** Answers where the next page begins; undefined after the last. */
  async eraseResponses(
    subject: ErasedSubject,
    after: KeyPlace,
    limit: number,
    tx: Transaction,
  ): Promise<KeyPlace | undefined> {
    return (await tx.run(eraseResponses(subject, after, limit)))[0];
  }
}

export type { ErasedSubject, IdPage, KeyPlace, ReceivedRow };
