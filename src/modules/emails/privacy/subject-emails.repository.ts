import { Injectable } from '@nestjs/common';
import { expandEvents } from '../../events/event-rows';
import { lowerForms } from '../../../common/address-forms';
import type { Tenant } from '../../../common/tenant';
import { Database } from '../../../database/pool/database.service';
import { ReadDatabase } from '../../../database/pool/read-database.service';
import type { Transaction } from '../../../database/statements/transaction';
import { lockEmails } from '../outcomes/sql/lock-emails.sql';
import {
  countRawParts,
  emptyAttachment,
  nextAttachment,
  readAttachmentPart,
  type StoredAttachment,
  writeRawPart,
} from './sql/erase-attachments.sql';
import { deleteContents, type ErasableContent, readContent, writeContent } from './sql/erase-contents.sql';
import {
  type ErasableRecipient,
  type FoundHead,
  readErasableRecipients,
  readHeads,
  writeHead,
  writeRecipients,
} from './sql/erase-emails.sql';
import {
  type ErasableEvent,
  type EventPlace,
  type FoundEvent,
  readErasableEvents,
  writeEvents,
  deleteHashedKeys,
  type ErasedKey,
  type KeyLimits,
  type KeyPlace,
  readStoredKeys,
  type StoredKey,
  writeStoredKeys,
} from './sql/erase-events-and-responses.sql';
import type { ErasedSubject } from './sql/erased.sql';
import {
  type ErasableEmail,
  findReceived,
  findSenders,
  type IdPage,
  measureErasable,
  type ReceivedRow,
  type SenderPage,
} from './sql/find-erasable.sql';
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

interface AttachmentKey {
  readonly emailId: string;
  readonly position: number;
}

/** Personal data of a data subject in emails, to be removed in an erasure. */
@Injectable()
export class ErasableEmailsRepository {
  constructor(private readonly database: Database) {}

  findReceived(subject: ErasedSubject, page: IdPage, limit: number): Promise<ReceivedRow[]> {
    return this.database.run(findReceived(subject, page, limit));
  }

  async findSenders(
    subject: ErasedSubject,
    page: IdPage,
    limits: { readonly examined: number; readonly found: number },
  ): Promise<SenderPage> {
    const [found] = await this.database.run(findSenders(subject, page, limits));
    return found ?? { ids: [], lastId: null };
  }

  /** What the erasure of each email takes, in the order of ids. */
  measure(subject: ErasedSubject, emailIds: readonly string[]): Promise<ErasableEmail[]> {
    return this.database.run(measureErasable(subject, emailIds));
  }

  /** Locks the emails: until the transaction ends no other one writes outcomes of them. */
  async lock(subject: ErasedSubject, emailIds: readonly string[], tx: Transaction): Promise<void> {
    await tx.run(lockEmails(subject, emailIds));
  }

  readHeads(subject: ErasedSubject, emailIds: readonly string[], tx: Transaction): Promise<FoundHead[]> {
    return tx.run(readHeads(subject, emailIds));
  }

  writeHeads(subject: ErasedSubject, heads: readonly FoundHead[], now: Date, tx: Transaction): void {
    for (const head of heads) tx.write(writeHead(subject, head, now));
  }

  readRecipients(subject: ErasedSubject, emailIds: readonly string[], tx: Transaction): Promise<ErasableRecipient[]> {
    return tx.run(readErasableRecipients(subject, emailIds));
  }

  writeRecipients(subject: ErasedSubject, rows: readonly ErasableRecipient[], tx: Transaction): void {
    tx.write(writeRecipients(subject, rows));
  }

  async readContent(subject: ErasedSubject, emailId: string, tx: Transaction): Promise<ErasableContent | undefined> {
    return (await tx.run(readContent(subject, emailId)))[0];
  }

  async writeContent(
    subject: ErasedSubject,
    emailId: string,
    content: ErasableContent,
    tx: Transaction,
  ): Promise<void> {
    await tx.run(writeContent(subject, emailId, content));
  }

  /** Returns the number of deleted contents. */
  async deleteContents(subject: ErasedSubject, emailIds: readonly string[], tx: Transaction): Promise<number> {
    return (await tx.run(deleteContents(subject, emailIds))).length;
  }

  /** The next events of each email, up to `limit` of each. */
  readEvents(
    subject: ErasedSubject,
    places: readonly EventPlace[],
    limit: number,
    tx: Transaction,
  ): Promise<FoundEvent[]> {
    return tx.run(readErasableEvents(subject, places, limit));
  }

  writeEvents(subject: ErasedSubject, events: readonly ErasableEvent[], tx: Transaction): void {
    tx.write(writeEvents(subject, events));
  }

  async nextAttachment(subject: ErasedSubject, emailId: string, after: number): Promise<StoredAttachment | undefined> {
    return (await this.database.run(nextAttachment(subject, emailId, after)))[0];
  }

  /** A part of an attachment; empty beyond its end. @param from the first byte, from 1 */
  async readAttachmentPart(subject: ErasedSubject, key: AttachmentKey, from: number, length: number): Promise<Buffer> {
    const [row] = await this.database.run(readAttachmentPart(subject, key, from, length));
    return row?.part ?? Buffer.alloc(0);
  }

  async emptyAttachment(subject: ErasedSubject, key: AttachmentKey): Promise<void> {
    await this.database.run(emptyAttachment(subject, key));
  }

  /** Replaces a raw message completely or not at all; the number of its parts stays the same. */
  async writeRaw(subject: ErasedSubject, emailId: string, bytes: Buffer): Promise<void> {
    await this.database.transaction(async (tx) => {
      const [row] = await tx.run(countRawParts(subject, emailId));
      const parts = row?.parts ?? 0;
      const length = Math.ceil(bytes.length / Math.max(1, parts));
      for (let position = 0; position < parts; position += 1) {
        const part = bytes.subarray(position * length, (position + 1) * length);
        await tx.run(writeRawPart(subject, { emailId, position }, part));
      }
    });
  }

  readStoredKeys(subject: ErasedSubject, after: KeyPlace, limits: KeyLimits, tx: Transaction): Promise<StoredKey[]> {
    return tx.run(readStoredKeys(subject, after, limits));
  }

  writeStoredKeys(subject: ErasedSubject, keys: readonly ErasedKey[], tx: Transaction): void {
    const hashed = keys.filter(({ isHashed }) => isHashed);
    if (hashed.length > 0) tx.write(deleteHashedKeys(subject, hashed));
    tx.write(writeStoredKeys(subject, keys));
  }
}

export type { ErasableEmail, ErasedSubject, IdPage, KeyPlace, ReceivedRow };

/** Emails examined per page for their sender. */
const EXAMINED = 2_000;

/** Personal data of a data subject in emails, read for an export, from the replica if there is one. */
@Injectable()
export class SubjectEmailsRepository {
  constructor(private readonly reads: ReadDatabase) {}

  /** A page of the ids of the emails to a subject, in order. */
  async list(scope: SubjectScope, range: SubjectRange, limits: PageLimits): Promise<string[]> {
    return (await this.reads.run(listSubjectEmails(scope, range, limits))).map(({ id }) => id);
  }

  /**
   * The next emails from a subject, or with its address as reply-to, within the limits, at least one if there is one; and the last email
   * examined, null at the end.
   */
  async listSent(
    { organizationId, mode, address }: SubjectScope,
    { after, before }: SubjectRange,
    limits: PageLimits,
  ): Promise<SenderPage> {
    const subject = { organizationId, mode, keys: lowerForms(address) };
    const page = { after, lastId: before };
    const [found] = await this.reads.run(findSenders(subject, page, { examined: EXAMINED, found: limits.emails }));
    if (!found || found.ids.length === 0) return { ids: [], lastId: found?.lastId ?? null };
    const measured = await this.reads.run(measureErasable(subject, found.ids));
    let bytes = 0;
    const fitting = measured.filter((email, index) => (bytes += email.bytes) <= limits.bytes || index === 0);
    const ids = fitting.map(({ emailId }) => emailId);
    return { ids, lastId: ids.length < measured.length ? (ids.at(-1) ?? null) : found.lastId };
  }

  findEmails(tenant: Tenant, emailIds: readonly string[]): Promise<SubjectEmailHead[]> {
    return this.reads.run(readSubjectEmails(tenant, emailIds));
  }

  /** The events of the emails, per email in the order in which they were recorded. */
  async findEvents(tenant: Tenant, emailIds: readonly string[]): Promise<SubjectEvent[]> {
    return expandEvents(await this.reads.run(readSubjectEvents(tenant, emailIds)));
  }
}

export type { SubjectEmailHead, SubjectEvent, SubjectRange, SubjectScope };
