import { isUtf8 } from 'node:buffer';
import { Injectable } from '@nestjs/common';
import { bytesHold } from '../../../common/erasure/byte-search';
import { RAW_PART, RawMessagesStorage } from '../content/raw-messages.storage';
import type { StoredAttachment } from './sql/erase-attachments.sql';
import type { ErasedSubject } from './sql/erased.sql';
import { ErasableEmailsRepository } from './subject-emails.repository';

/** The position in the search of an email's attachments. */
export interface AttachmentPlace {
  readonly emailId: string;
  readonly position: number;
  readonly isDone: boolean;
}

/** Bytes per query; the driver holds them as text of twice the size. */
const PART_BYTES = 1024 * 1024;

/**
 * Empties attachments that contain a subject's address, one at a time and outside any transaction: searching 25 MiB takes
 * seconds. It can be repeated. A raw message with other recipients loses only the address; where that cannot be separated, the
 * message is emptied.
 */
@Injectable()
export class AttachmentEraser {
  constructor(
    private readonly emails: ErasableEmailsRepository,
    private readonly messages: RawMessagesStorage,
  ) {}

  /** Searches the next attachment of an email. */
  async eraseNext(subject: ErasedSubject, emailId: string, place?: AttachmentPlace): Promise<AttachmentPlace> {
    const after = place?.emailId === emailId ? place.position : -1;
    const attachment = await this.emails.nextAttachment(subject, emailId, after);
    if (!attachment) return { emailId, position: after, isDone: true };
    const { position, contentType } = attachment;
    if (contentType === RAW_PART.contentType) {
      await this.eraseRaw(subject, emailId);
      return { emailId, position, isDone: true };
    }
    const bytes = await this.read(subject, emailId, attachment);
    if (await bytesHold(subject.finder, bytes, { contentType })) {
      await this.emails.emptyAttachment(subject, { emailId, position });
    }
    return { emailId, position, isDone: false };
  }

  private async eraseRaw(subject: ErasedSubject, emailId: string): Promise<void> {
    const { organizationId, mode, finder } = subject;
    const bytes = await this.messages.load({ organizationId, mode, emailId });
    if (!bytes || !(await bytesHold(finder, bytes))) return;
    const encoding = isUtf8(bytes) ? 'utf8' : 'latin1';
    const cleaned = Buffer.from((await finder.cleanMessage(bytes.toString(encoding))) ?? '', encoding);
    const isClean = !(await bytesHold(finder, cleaned));
    await this.emails.writeRaw(subject, emailId, isClean ? cleaned : Buffer.alloc(0));
  }

  private async read(subject: ErasedSubject, emailId: string, { position, size }: StoredAttachment): Promise<Buffer> {
    const bytes = Buffer.allocUnsafe(size);
    let read = 0;
    while (read < size) {
      const part = await this.emails.readAttachmentPart(subject, { emailId, position }, read + 1, PART_BYTES);
      if (part.length === 0) break;
      read += part.copy(bytes, read);
    }
    return bytes.subarray(0, read);
  }
}
