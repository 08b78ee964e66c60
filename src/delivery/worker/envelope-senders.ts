import { type Clock, DAY } from '../../common/clock';
import { deriveKey } from '../../common/encryption/encryption';
import type { AppConfig } from '../../config/config';
import { DELIVERY_LIFE_MS } from '../policy/retry-schedule';
import type { ClaimedDelivery } from '../ports/delivery';
import { ReturnPath } from '../tokens/return-path';

/** Bounces may come this long after the last attempt. */
const RETURN_PATH_MS = 30 * DAY;
/** RFC 5321 section 4.5.3.1.3, without the angle brackets. */
const MAX_ADDRESS_CHARACTERS = 254;

/** The envelope senders of mail: addresses that name the delivery, so that a bounce tells which mail it is about. */
export class EnvelopeSenders {
  private readonly returnPath: ReturnPath;
  private readonly ownHost: string;

  constructor({ masterKey, delivery }: AppConfig, clock: Clock) {
    this.returnPath = new ReturnPath(deriveKey(masterKey, 'return-path'), clock);
    this.ownHost = delivery.mailHost;
  }

  /**
   * At the sender's own host if it has one, and the address stays within what a path may hold.
   * @param ordinal the organization's
   */
  senderOf(claim: ClaimedDelivery, ordinal: number, alignedHost: string | undefined): string {
    const { mode, emailId, position, firstDueAt } = claim;
    const expiresAt = new Date(firstDueAt.getTime() + DELIVERY_LIFE_MS + RETURN_PATH_MS);
    const localPart = this.returnPath.issue({ organizationOrdinal: ordinal, mode, emailId, position }, expiresAt);
    const aligned = `${localPart}@${alignedHost ?? this.ownHost}`;
    return aligned.length <= MAX_ADDRESS_CHARACTERS ? aligned : `${localPart}@${this.ownHost}`;
  }
}
