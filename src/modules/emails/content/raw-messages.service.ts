import { Injectable } from '@nestjs/common';
import { FairLimit } from '../../../common/async/fair-turns';
import { INLINE_IMAGE_TYPES, type InlinePart, MAX_INLINE_IMAGE_BYTES } from '../../../common/mime/inline-images';
import { type MessageFile, readFile, type ReadMessage, readMessage } from '../../../common/mime/message-view';
import { clientGone } from '../../../common/tenant';
import type { EmailKey } from '../../../delivery/ports/delivery';
import { RawMessagesStorage } from './raw-messages.storage';

/** Concurrent reads; each message may have 25 MiB. */
const AT_A_TIME = 4;
const MAX_IMAGES = 20;

/** Parses raw messages when a client reads them. */
@Injectable()
export class RawMessagesService {
  private readonly limit = new FairLimit(AT_A_TIME);

  constructor(private readonly messages: RawMessagesStorage) {}

  /** Images that its html may refer to; empty for an email that is not raw. @throws UnavailableError */
  readImages(key: EmailKey): Promise<InlinePart[]> {
    const read = async (): Promise<InlinePart[]> => {
      const bytes = await this.messages.load(key);
      if (!bytes) return [];
      const { files } = await readMessage(bytes);
      const found = await Promise.all(
        files
          .filter(isImage)
          .slice(0, MAX_IMAGES)
          .map(({ index }) => readFile(bytes, index)),
      );
      return found.flatMap((file) => (file ? [{ ...file, type: file.contentType }] : []));
    };
    return this.limit.run(key.organizationId, read, clientGone());
  }

  /**
   * The parsed message; undefined when it has been deleted.
   * @param onSize is told its bytes before they are read
   * @throws UnavailableError, what `onSize` throws
   */
  read(key: EmailKey, onSize?: (bytes: number) => void): Promise<ReadMessage | undefined> {
    const read = async (): Promise<ReadMessage | undefined> => {
      const bytes = await this.messages.load(key, 0, onSize);
      return bytes && readMessage(bytes);
    };
    return this.limit.run(key.organizationId, read, clientGone());
  }
}

const isImage = ({ contentId, contentType, size }: MessageFile): boolean =>
  contentId !== undefined && INLINE_IMAGE_TYPES.includes(contentType) && size <= MAX_INLINE_IMAGE_BYTES;

/** The header fields as an object; of repeated fields the first. */
export function headersOf({ fields }: Pick<ReadMessage, 'fields'>): Record<string, string> {
  const headers = new Map<string, string>();
  const seen = new Set<string>();
  for (const { name, spelledName, value } of fields.list) {
    if (!seen.has(name)) headers.set(spelledName, value);
    seen.add(name);
  }
  return Object.fromEntries(headers);
}
