import { Injectable } from '@nestjs/common';
import { Clock, DAY } from '../../../common/clock';
import { isUuid } from '../../../common/ids';
import type { EmailKey } from '../../../delivery/ports/delivery';
import { findOwnSignature } from '../../../delivery/dkim/own-signature';
import { type KnownKey, KnownKeysService } from '../../domains/dkim/known-keys.service';

/** As long as a return path holds: four days of attempts and thirty after them. */
const MAX_AGE_MS = 34 * DAY;

export interface SignedOriginal extends EmailKey {
  readonly domainId: string;
}

/** Recognises mail of our own by the signature that we gave it. */
@Injectable()
export class SignedOriginals {
  constructor(
    private readonly keys: KnownKeysService,
    private readonly clock: Clock,
  ) {}

  /**
   * The email that these bytes are, header and body; undefined for mail that is not ours, was altered or is too old.
   * The Message-ID is under the signature, and test mail is never signed.
   * @throws UnavailableError
   */
  async identify(message: Buffer): Promise<SignedOriginal | undefined> {
    let owner: KnownKey | undefined;
    const found = await findOwnSignature(message, async ({ domain, selector }) => {
      owner = await this.keys.find(domain, selector);
      return owner?.publicKey;
    });
    if (!found || !owner || this.clock.now().getTime() - found.signedAt.getTime() > MAX_AGE_MS) return undefined;
    const emailId = found.messageId.split('@')[0] ?? '';
    if (!isUuid(emailId)) return undefined;
    const { organizationId, domainId } = owner;
    return { organizationId, mode: 'live', emailId, domainId };
  }
}
