import { Injectable } from '@nestjs/common';
import { FairLimit } from '../../../common/async/fair-limit';
import { type ReadMessage, readMessage } from '../../../common/mime/message-view';
import type { EmailKey } from '../../../delivery/ports/delivery';
import { RawMessagesStorage } from './raw-messages.storage';

/** Each may be of 25 MiB. */
const AT_A_TIME = 4;

/** Raw messages as a reader shows them: they are stored as they came, and taken apart when somebody looks. */
@Injectable()
export class RawMessagesService {
  private readonly limit = new FairLimit(AT_A_TIME);

  constructor(private readonly messages: RawMessagesStorage) {}

  /** Undefined when it is gone. @throws UnavailableError */
  read(key: EmailKey): Promise<ReadMessage | undefined> {
    return this.limit.run(key.organizationId, async () => {
      const bytes = await this.messages.load(key);
      return bytes && readMessage(bytes);
    });
  }
}

/** Fields as an object; of several of one name the first. */
export function headersOf({ fields }: Pick<ReadMessage, 'fields'>): Record<string, string> {
  const headers = new Map<string, string>();
  const seen = new Set<string>();
  for (const { name, spelledName, value } of fields.list) {
    if (!seen.has(name)) headers.set(spelledName, value);
    seen.add(name);
  }
  return Object.fromEntries(headers);
}
