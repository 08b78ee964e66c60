import { Injectable } from '@nestjs/common';
import { Clock } from '../../common/clock';
import { needsSmtpUtf8 } from '../../common/mail-address';
import { AppConfig } from '../../config/config';
import { composeMessage } from '../message/compose-message';
import { type HeaderField, headerNeedsSmtpUtf8 } from '../message/header-block';
import type { ClaimedDelivery } from '../ports/delivery';
import { type CompleteMessage, MessageSource, type OutgoingMessage } from '../ports/message-source';
import type { SigningKey } from '../ports/sender-sources';
import { signMessage } from '../dkim/sign-message';
import { RecipientHeaders } from './recipient-headers';
import { HeavyMessages } from './heavy-messages';
import { RecipientTracking } from './recipient-tracking';

/** Content of all messages that are composed on the spot; as bytes on the wire they take about three times as much. */
const MAX_HEAVY_BYTES = 32 * 1024 * 1024;

/** A message ready for the wire. */
export interface SignedMessage {
  readonly bytes: Buffer;
  /** Envelope sender. */
  readonly returnPath: string;
  readonly smtpUtf8: boolean;
}

/** All that one delivery's message is made of, attachments aside. */
export interface MessageParts {
  readonly claim: ClaimedDelivery;
  readonly message: OutgoingMessage;
  readonly key: SigningKey;
  /** The organization's number. */
  readonly ordinal: number;
}

export interface PreparedMessage {
  /** Runs `use` with the message; a heavy one is in memory only meanwhile. Rejects when it cannot be made. */
  readonly withMessage: <T>(use: (message: SignedMessage) => Promise<T>) => Promise<T>;
}

/** Messages composed ahead, by email id, for the recipients in one batch to share. */
export type SharedMessages = Map<string, Promise<Buffer>>;

/**
 * Gives each delivery its bytes. The recipients of an email share one signed message, composed while they wait for their
 * turn. Bulk mail differs in its unsubscribe link and tracked mail in all its links: each recipient has a copy, which is
 * made when its turn has come, for fifty copies of a large mail ahead of time would fill the memory. The same goes for
 * mail with attachments.
 */
@Injectable()
export class MessageComposer {
  private readonly heavy = new HeavyMessages(MAX_HEAVY_BYTES);
  private readonly headers: RecipientHeaders;
  private readonly tracking: RecipientTracking;

  constructor(
    private readonly messages: MessageSource,
    config: AppConfig,
    clock: Clock,
  ) {
    this.headers = new RecipientHeaders(config, clock);
    this.tracking = new RecipientTracking(config);
  }

  prepare(parts: MessageParts, shared: SharedMessages): PreparedMessage {
    const { claim, message, key, ordinal } = parts;
    const ownFields = this.headers.unsubscribeFields(claim, ordinal, message.headers);
    const isPersonal = ownFields.length > 0 || this.tracking.appliesTo(message);
    if (isPersonal) return this.prepareOnTheSpot(`${message.emailId} ${claim.position}`, parts, ownFields);
    if (message.attachmentBytes > 0) return this.prepareOnTheSpot(message.emailId, parts, ownFields);
    const bytes = shared.get(message.emailId) ?? composeAhead(message, key);
    shared.set(message.emailId, bytes);
    return { withMessage: async (use) => use(this.address(parts, await bytes)) };
  }

  /** @param id of the copy: deliveries with the same one share it */
  private prepareOnTheSpot(id: string, parts: MessageParts, ownFields: readonly HeaderField[]): PreparedMessage {
    const { message, key } = parts;
    const make = async () => compose(await this.complete(parts), key, ownFields);
    return {
      withMessage: (use) =>
        this.heavy.use({ id, weight: weightOf(message) }, make, (bytes) => use(this.address(parts, bytes))),
    };
  }

  private async complete({ claim, message, key, ordinal }: MessageParts): Promise<CompleteMessage> {
    const attachments = message.attachmentBytes > 0 ? await this.messages.loadAttachments(message) : [];
    const { mode, emailId, position } = claim;
    const recipient = { organizationOrdinal: ordinal, mode, emailId, position, trackingHost: key.trackingHost };
    return this.tracking.apply({ ...message, attachments }, recipient);
  }

  private address({ claim, message, key, ordinal }: MessageParts, bytes: Buffer): SignedMessage {
    return {
      bytes,
      returnPath: this.headers.envelopeSender(claim, ordinal, key.returnPathHost),
      smtpUtf8: needsSmtpUtf8(claim.recipient) || headerNeedsSmtpUtf8(message),
    };
  }
}

/** A failure is the attempt's, not the process's. */
function composeAhead(message: OutgoingMessage, key: SigningKey): Promise<Buffer> {
  const bytes = compose({ ...message, attachments: [] }, key, []);
  bytes.catch(() => undefined);
  return bytes;
}

async function compose(message: CompleteMessage, key: SigningKey, ownFields: readonly HeaderField[]): Promise<Buffer> {
  return signMessage(await composeMessage(message, ownFields), key, { signedAt: message.date });
}

function weightOf({ attachmentBytes, html = '', text = '' }: OutgoingMessage): number {
  return attachmentBytes + html.length + text.length;
}
