import { Injectable } from '@nestjs/common';
import { Database } from '../../../database/database.service';
import type { Transaction } from '../../../database/transaction';
import type { EmailKey } from '../../../delivery/ports/delivery';
import { lockEmails } from '../outcomes/sql/lock-emails.sql';
import { cleanAttachments, cleanContents, deleteContents } from './sql/erase-contents.sql';
import { type ErasedEmail, eraseEmails, eraseRecipients, type NamedEmail } from './sql/erase-emails.sql';
import { eraseEvents, eraseResponses, type KeyPlace } from './sql/erase-events.sql';
import type { ErasedSubject } from './sql/erased.sql';
import { findReceived, findSenders, type IdPage, type ReceivedRow, type SenderPage } from './sql/find-erasable.sql';
import {
  listSubjectEmails,
  type PageLimits,
  readSubjectEmails,
  readSubjectEvents,
  type SubjectEmailHead,
  type SubjectEvent,
  type SubjectRange,
  type SubjectScope,
} from './sql/subject-emails.sql';

/** What emails hold of a data subject, to be read for an export or removed in an erasure. */
@Injectable()
export class SubjectEmailsRepository {
  constructor(private readonly database: Database) {}

  /** A page of the emails to a subject, in order. */
  async list(scope: SubjectScope, range: SubjectRange, limits: PageLimits): Promise<EmailKey[]> {
    const { organizationId, mode } = scope;
    const ids = await this.database.run(listSubjectEmails(scope, range, limits));
    return ids.map(({ id: emailId }) => ({ organizationId, mode, emailId }));
  }

  findEmails(keys: readonly EmailKey[]): Promise<SubjectEmailHead[]> {
    return this.database.run(readSubjectEmails(keys));
  }

  /** Of each email in the order in which they were recorded. */
  findEvents(keys: readonly EmailKey[]): Promise<SubjectEvent[]> {
    return this.database.run(readSubjectEvents(keys));
  }

  findReceived(subject: ErasedSubject, page: IdPage, limit: number, tx: Transaction): Promise<ReceivedRow[]> {
    return tx.run(findReceived(subject, page, limit));
  }

  async findSenders(subject: ErasedSubject, page: IdPage, limit: number, tx: Transaction): Promise<SenderPage> {
    const [found] = await tx.run(findSenders(subject, page, limit));
    return found ?? { ids: [], lastId: null };
  }

  /** Until the transaction ends no other one writes what happens to them. */
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

  /** Returns the number of deleted contents. */
  async eraseContents(subject: ErasedSubject, emails: readonly ErasedEmail[], tx: Transaction): Promise<number> {
    const idsOf = (isSole: boolean) => emails.filter((email) => email.isSole === isSole).map(({ id }) => id);
    const [sole, shared] = [idsOf(true), idsOf(false)];
    if (shared.length > 0) {
      tx.write(cleanContents(subject, shared));
      tx.write(cleanAttachments(subject, shared));
    }
    return sole.length > 0 ? (await tx.run(deleteContents(subject, sole))).length : 0;
  }

  /** Returns the number of changed events. */
  async eraseEvents(subject: ErasedSubject, emails: readonly NamedEmail[], tx: Transaction): Promise<number> {
    return (await tx.run(eraseEvents(subject, emails))).length;
  }

  /** Returns where the next page begins; undefined after the last. */
  async eraseResponses(
    subject: ErasedSubject,
    after: KeyPlace,
    limit: number,
    tx: Transaction,
  ): Promise<KeyPlace | undefined> {
    return (await tx.run(eraseResponses(subject, after, limit)))[0];
  }
}

export type {
  ErasedSubject,
  IdPage,
  KeyPlace,
  NamedEmail,
  ReceivedRow,
  SubjectEmailHead,
  SubjectEvent,
  SubjectRange,
  SubjectScope,
};
