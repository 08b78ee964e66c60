import { Injectable } from '@nestjs/common';
import { Clock } from '../../common/clock';
import { needsSmtpUtf8 } from '../../common/mail-address';
import { AppConfig } from '../../config/config';
import { composeMessage } from '../message/compose-message';
import { type HeaderField, headerNeedsSmtpUtf8 } from '../message/header-field';
import { extensionsNeededBy, type NeededExtensions, RAW_ROOM, signRawMessage } from '../message/raw-message';
import type { ClaimedDelivery } from '../ports/delivery';
import { type CompleteMessage, MessageSource, type OutgoingMessage, type SigningKey } from '../ports/sources';
import { signMessage } from '../dkim/sign-message';
import { isReportMail } from '../tls/tls-report-data.service';
import { ByteBudget } from './byte-budget';
import { ComposedMessage, ComposingTurns } from './composed-message';
import { RecipientHeaders, RecipientTracking } from './recipient-tracking';

/** What composing takes at its peak for each byte of content: the row, base64 or quoted-printable, and the signed copy. */
const PEAK = { attachments: 4, body: 6, any: 4 * 1024 };
/** A raw message is loaded in parts, of which the driver holds one several times over. */
const RAW_PART = { bytes: 1024 * 1024, times: 3 };

/** A message ready for the wire. */
export interface SignedMessage {
  readonly bytes: Buffer;
  /** Envelope sender. */
  readonly returnPath: string;
  readonly smtpUtf8: boolean;
  /** It has bytes over 0x7f; only raw messages have. */
  readonly eightBit: boolean;
  /** The sender's domain lets it go over encrypted connections only. */
  readonly requiresTls?: boolean | undefined;
}

/** All that one delivery's message is made of, attachments and large bodies aside. */
export interface MessageParts {
  readonly claim: ClaimedDelivery;
  readonly message: OutgoingMessage;
  readonly key: SigningKey;
  /** The organization's number. */
  readonly ordinal: number;
}

/** The message of one delivery: in memory already when it is small, else from the moment of `use`. */
export interface PreparedMessage {
  /** True when its bytes are in memory. */
  readonly isPresent: boolean;
  /** Whether the byte budget allows `use` now. */
  readonly mayBegin: boolean;
  /** Keeps what others free in the byte budget for it; false when that is kept for another. Ends by `use` or `keepNoRoom`. */
  keepRoom(): boolean;
  keepNoRoom(): void;
  /** The receiver's demands of connections do not hold for it. */
  readonly isExempt: boolean;
  /** Runs `work` with the message, which is in memory meanwhile. Rejects when it cannot be made. */
  use<T>(work: (message: SignedMessage) => Promise<T>): Promise<T>;
  /** Gives back what was composed ahead; to be called once, whether or not it was used. */
  drop(): void;
}

interface Shared {
  readonly composed: ComposedMessage;
  owners: number;
  /** Of its bytes, the same for each owner; from the first use on. */
  needed?: NeededExtensions;
}

/**
 * Gives each delivery its bytes. The recipients of an email share one signed message. Bulk mail differs in its unsubscribe link
 * and tracked mail in all its links: there each recipient has a copy. A raw message has neither.
 *
 * Small messages are composed and signed ahead of their connection, as far as the budget goes. What is large or has attachments
 * is loaded, composed and signed when its attempt begins, and freed when that ends.
 */
@Injectable()
export class MessageComposer {
  private readonly shared = new Map<string, Shared>();
  private readonly headers: RecipientHeaders;
  private readonly tracking: RecipientTracking;
  private readonly turns = new ComposingTurns();
  private readonly reportContact: string | undefined;

  constructor(
    private readonly messages: MessageSource,
    private readonly budget: ByteBudget,
    config: AppConfig,
    clock: Clock,
  ) {
    this.headers = new RecipientHeaders(config, clock);
    this.tracking = new RecipientTracking(config);
    this.reportContact = config.tlsReports?.contact;
  }

  prepare(parts: MessageParts): PreparedMessage {
    const { claim, message, key, ordinal } = parts;
    const { isRaw = false } = message;
    const unsubscribing = isRaw ? [] : this.headers.unsubscribeFields(claim, ordinal, message.headers);
    const ownFields = isRaw ? [] : [...unsubscribing, ...this.headers.feedbackFields(claim, ordinal, message)];
    const isPersonal = unsubscribing.length > 0 || (!isRaw && this.tracking.appliesTo(message));
    const id = isPersonal ? `${message.emailId} ${claim.position}` : message.emailId;
    const shared = this.share(id, parts, ownFields);
    const isAhead = this.composeAhead(shared.composed, parts, ownFields);
    const address = (bytes: Buffer): SignedMessage => {
      shared.needed ??= isRaw ? extensionsNeededBy(bytes) : { smtpUtf8: headerNeedsSmtpUtf8(message), eightBit: false };
      return {
        bytes,
        returnPath: this.headers.envelopeSender(claim, ordinal, key.returnPathHost),
        smtpUtf8: shared.needed.smtpUtf8 || needsSmtpUtf8(claim.recipient),
        eightBit: shared.needed.eightBit,
        requiresTls: key.requiresTls,
      };
    };
    return {
      isExempt: isReportMail(message, this.reportContact),
      get isPresent() {
        return shared.composed.isPresent;
      },
      get mayBegin() {
        return shared.composed.mayBegin;
      },
      keepRoom: () => shared.composed.keepRoom(),
      keepNoRoom: () => shared.composed.keepNoRoom(),
      use: (work) => use(shared.composed, (bytes) => work(address(bytes))),
      drop: () => {
        if (isAhead) shared.composed.end();
        shared.owners -= 1;
        if (shared.owners === 0) this.shared.delete(id);
      },
    };
  }

  private share(id: string, parts: MessageParts, ownFields: readonly HeaderField[]): Shared {
    const shared = this.shared.get(id) ?? { composed: this.compositionOf(parts, ownFields), owners: 0 };
    shared.owners += 1;
    this.shared.set(id, shared);
    return shared;
  }

  /** Holds on to no body: what is not composed ahead is loaded again. */
  private compositionOf(parts: MessageParts, ownFields: readonly HeaderField[]): ComposedMessage {
    const message = withoutBody(parts.message);
    const bare = { ...parts, message };
    const cost = peakOf(message);
    const make = message.isRaw
      ? () => this.loadAndSignRaw(bare)
      : async () => this.sign(await this.loadAndCompose(bare, ownFields), bare);
    return new ComposedMessage(this.budget, { organizationId: message.organizationId, cost, make });
  }

  private composeAhead(composed: ComposedMessage, parts: MessageParts, ownFields: readonly HeaderField[]): boolean {
    const { message } = parts;
    if (!message.isBodyLoaded) return false;
    if (!composed.isPresent && PEAK.body * message.bodyBytes + PEAK.any > this.budget.aheadRoom) return false;
    const { raw, organizationId } = message;
    const make = raw
      ? () => signRawMessage(raw, 0, message, parts.key)
      : async (isUrgent: boolean) => this.sign(await this.compose(parts, message, ownFields), parts, isUrgent);
    composed.composeAhead(() => this.turns.run(organizationId, make));
    return true;
  }

  private async loadAndSignRaw({ message, key }: MessageParts): Promise<Buffer> {
    return signRawMessage(await this.messages.loadRaw(message, RAW_ROOM), RAW_ROOM, message, key);
  }

  /** Apart from the signing, so that the content is free before the signed copy is made. */
  private async loadAndCompose(parts: MessageParts, ownFields: readonly HeaderField[]): Promise<Buffer> {
    const { message } = parts;
    const body = await this.messages.loadBody(message);
    const attachments = message.attachmentBytes > 0 ? await this.messages.loadAttachments(message) : [];
    return this.compose(parts, { ...message, ...body, attachments }, ownFields);
  }

  private async compose(
    { claim, key, ordinal }: MessageParts,
    message: CompleteMessage,
    ownFields: readonly HeaderField[],
  ): Promise<Buffer> {
    const { mode, emailId, position } = claim;
    const recipient = { organizationOrdinal: ordinal, mode, emailId, position, trackingHost: key.trackingHost };
    return composeMessage(await this.tracking.apply(message, recipient), ownFields);
  }

  private sign(bytes: Buffer, { key, message }: MessageParts, isUrgent = false): Promise<Buffer> {
    return signMessage(bytes, key, { signedAt: message.date, isUrgent });
  }
}

/** Field by field: copies by `...rest` are slow to make and to read, and every mail comes by here. */
function withoutBody(message: OutgoingMessage): OutgoingMessage {
  return {
    organizationId: message.organizationId,
    mode: message.mode,
    emailId: message.emailId,
    domainId: message.domainId,
    date: message.date,
    subject: message.subject,
    from: message.from,
    to: message.to,
    cc: message.cc,
    replyTo: message.replyTo,
    headers: message.headers,
    bodyBytes: message.bodyBytes,
    isBodyLoaded: message.isBodyLoaded,
    trackOpens: message.trackOpens,
    trackClicks: message.trackClicks,
    attachmentBytes: message.attachmentBytes,
    isRaw: message.isRaw ?? false,
  };
}

function peakOf({ isRaw, bodyBytes, attachmentBytes }: OutgoingMessage): number {
  if (isRaw) return bodyBytes + RAW_PART.times * Math.min(bodyBytes, RAW_PART.bytes) + PEAK.any;
  return PEAK.attachments * attachmentBytes + PEAK.body * bodyBytes + PEAK.any;
}

async function use<T>(composed: ComposedMessage, work: (bytes: Buffer) => Promise<T>): Promise<T> {
  try {
    return await work(await composed.begin());
  } finally {
    composed.end();
  }
}
