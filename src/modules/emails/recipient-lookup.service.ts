import { Injectable } from '@nestjs/common';
import type { DeliveryKey } from '../../delivery/ports/delivery';
import { isErased } from './erasure/erased-recipient';
import type { MailRecipient } from './mail-recipient';
import { RecipientLookupRepository } from './recipient-lookup.repository';

/** Finds the recipients whom signed links name. */
@Injectable()
export class RecipientLookup {
  constructor(private readonly repository: RecipientLookupRepository) {}

  /** Undefined when the email is no longer there, or the recipient has been erased. @throws UnavailableError */
  async find(key: DeliveryKey): Promise<MailRecipient | undefined> {
    return (await this.findAll([key]))[0];
  }

  /** For each key its recipient, in order; undefined as for `find`, and for no key. @throws UnavailableError */
  async findAll(keys: readonly (DeliveryKey | undefined)[]): Promise<(MailRecipient | undefined)[]> {
    const wanted = new Map(keys.flatMap((key) => (key ? [[nameOf(key), key] as const] : [])));
    const found = wanted.size > 0 ? await this.repository.find([...wanted.values()]) : [];
    const present = found.filter(({ address }) => !isErased(address));
    const byName = new Map(present.map((recipient) => [nameOf(recipient), recipient]));
    return keys.map((key) => key && byName.get(nameOf(key)));
  }
}

function nameOf({ organizationId, mode, emailId, position }: DeliveryKey): string {
  return `${organizationId} ${mode} ${emailId} ${position}`;
}

export type { MailRecipient };
