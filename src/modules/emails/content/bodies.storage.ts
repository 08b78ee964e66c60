import { Injectable } from '@nestjs/common';
import { Database } from '../../../database/pool/database.service';
import type { Transaction } from '../../../database/statements/transaction';
import type { EmailKey } from '../../../delivery/ports/delivery';
import { RawMessagesStorage } from './raw-messages.storage';
import { type BodyName, type ContentRow, readBodyParts, readContent } from './sql/read-bodies.sql';

/** An email's content, without its attachments. */
export type StoredContent = Omit<ContentRow, 'htmlBytes' | 'textBytes'>;

/** Is told how many bytes the bodies have, before long ones are read. What it throws ends the reading. */
export type OnBodySize = (bytes: number) => void;

/** Reads html and text of emails, which may have megabytes, beside the messages that were submitted as they are. */
@Injectable()
export class BodiesStorage {
  constructor(
    private readonly database: Database,
    readonly messages: RawMessagesStorage,
  ) {}

  /** Undefined once the content has been removed. @throws UnavailableError */
  async load(key: EmailKey, onSize: OnBodySize = () => undefined): Promise<StoredContent | undefined> {
    const [found] = await this.database.run(readContent(key));
    if (!found) return undefined;
    onSize((found.htmlBytes ?? 0) + (found.textBytes ?? 0));
    if (!isLong(found, 'html') && !isLong(found, 'text')) return found;
    // An erasure may change it meanwhile.
    return this.database.snapshot(async (tx) => {
      const [now] = await tx.run(readContent(key));
      return now && { ...now, html: await bodyOf(now, 'html', key, tx), text: await bodyOf(now, 'text', key, tx) };
    });
  }
}

function isLong(content: ContentRow, name: BodyName): boolean {
  return content[name] === null && content[`${name}Bytes`] !== null;
}

async function bodyOf(content: ContentRow, name: BodyName, key: EmailKey, tx: Transaction): Promise<string | null> {
  if (!isLong(content, name)) return content[name];
  const parts = await tx.run(readBodyParts(key, name));
  return parts
    .sort((one, other) => one.start - other.start)
    .map(({ part }) => part)
    .join('');
}
