import { Injectable } from '@nestjs/common';
import { Database } from '../../../database/pool/database.service';
import type { EmailKey } from '../../../delivery/ports/delivery';
import { RAW_PART, readRawPart, readRawSizes } from './sql/raw-parts.sql';

/** Reads the bytes of raw messages, which are stored in parts, as rows of attachments. */
@Injectable()
export class RawMessagesStorage {
  constructor(private readonly database: Database) {}

  /**
   * A message, read part by part into one buffer, since the driver converts text of twice the length. In one snapshot, since an
   * erasure may change it. Undefined when it has been deleted.
   * @param before bytes that are left free before the message
   * @param onSize is told its bytes before they are read; what it throws ends the reading
   */
  load(key: EmailKey, before = 0, onSize?: (bytes: number) => void): Promise<Buffer | undefined> {
    return this.database.snapshot(async (tx) => {
      const parts = await tx.run(readRawSizes(key));
      const size = parts.reduce((sum, part) => sum + part.size, 0);
      if (size === 0) return undefined;
      onSize?.(size);
      const bytes = Buffer.allocUnsafe(before + size);
      let at = before;
      for (const { position } of parts) {
        const [part] = await tx.run(readRawPart(key, position));
        at += part?.content.copy(bytes, at) ?? 0;
      }
      return bytes;
    });
  }
}

export { RAW_PART };
