import { Injectable } from '@nestjs/common';
import { Clock, DAY } from '../../common/clock';
import { deriveKey } from '../../common/crypto/key-ring';
import { needsSmtpUtf8 } from '../../common/mail-address';
import { AppConfig } from '../../config/config';
import { composeMessage } from '../message/compose-message';
import { headerNeedsSmtpUtf8 } from '../message/header-block';
import type { ClaimedDelivery } from '../ports/delivery';
import { type CompleteMessage, MessageSource, type OutgoingMessage } from '../ports/message-source';
import type { DeliveryOutcome } from '../ports/outcome';
import { type SigningKey, SigningKeySource } from '../ports/signing-key-source';
import { OrdinalSource } from '../ports/ordinal-source';
import { DELIVERY_LIFE_MS } from '../policy/retry-schedule';
import { ReturnPath } from '../signing/return-path';
import { signMessage } from '../signing/sign-message';
import { HeavyMessages } from './heavy-messages';
import type { SignedMessage } from './transmitter';

/** A worker that died this often while it held the same delivery was probably killed by it. */
const MAX_CRASHES = 5;
/** Bounces may come this long after the last attempt. */
const RETURN_PATH_MS = 30 * DAY;
/** RFC 5321 section 4.5.3.1.3, without the angle brackets. */
const MAX_ADDRESS_CHARACTERS = 254;

/** Of all messages under way in this process; composed they take about three times as much. */
const MAX_ATTACHMENT_BYTES = 32 * 1024 * 1024;

type Ending = Extract<DeliveryOutcome, { kind: 'failed' | 'bounced' }>;

export interface PreparedMessage {
  /** Runs `use` with the message; one with attachments is in memory only meanwhile. Rejects when it cannot be made. */
  readonly withMessage: <T>(use: (message: SignedMessage) => Promise<T>) => Promise<T>;
}

/** Either a message to transmit, or the reason why none will be. */
export type Prepared = PreparedMessage | { readonly ending: Ending };

/** From claims to bytes: who is still to be written to, what the mail says, and its signature. */
@Injectable()
export class MessagePreparer {
  private readonly returnPath: ReturnPath;
  private readonly heavy = new HeavyMessages(MAX_ATTACHMENT_BYTES);

  constructor(
    private readonly messages: MessageSource,
    private readonly keys: SigningKeySource,
    private readonly ordinals: OrdinalSource,
    private readonly config: AppConfig,
    private readonly clock: Clock,
  ) {
    this.returnPath = new ReturnPath(deriveKey(config.masterKey, 'return-path'), clock);
  }

  /** One look-up each for messages, keys and suppressions, however many claims. @throws UnavailableError */
  async prepare(claims: readonly ClaimedDelivery[]): Promise<Map<ClaimedDelivery, Prepared>> {
    const prepared = new Map<ClaimedDelivery, Prepared>();
    const open = claims.filter((claim) => {
      const ending = this.endingOf(claim);
      if (ending) prepared.set(claim, { ending });
      return !ending;
    });
    const batch = await this.load(open);
    for (const claim of open) prepared.set(claim, this.prepareOne(claim, batch));
    return prepared;
  }

  private async load(claims: readonly ClaimedDelivery[]) {
    const live = claims.filter((claim) => claim.mode === 'live');
    const organizationIds = [...new Set(live.map((claim) => claim.organizationId))];
    const [messages, keys, ordinals, blocked] = await Promise.all([
      this.messages.load([...new Map(live.map((claim) => [claim.emailId, claim])).values()]),
      this.keys.keysFor([...new Map(live.map((claim) => [claim.domainId, claim])).values()]),
      this.ordinals.ordinalsOf(organizationIds),
      this.messages.findBlocked(claims),
    ]);
    return { messages, keys, ordinals, blocked, composed: new Map<string, Promise<Buffer>>() };
  }

  private endingOf(claim: ClaimedDelivery): Ending | undefined {
    const now = this.clock.now().getTime();
    if (claim.crashes >= MAX_CRASHES) return { kind: 'failed', reason: 'poison' };
    if (claim.expiresAt && claim.expiresAt.getTime() <= now) return { kind: 'failed', reason: 'expired' };
    if (claim.firstDueAt.getTime() + DELIVERY_LIFE_MS > now) return undefined;
    return { kind: 'bounced', bounceType: 'soft', suppress: false, reason: 'retries exhausted' };
  }

  private prepareOne(claim: ClaimedDelivery, batch: Awaited<ReturnType<MessagePreparer['load']>>): Prepared {
    const reason = batch.blocked.get(claim);
    if (reason !== undefined) return { ending: { kind: 'failed', reason: 'blocked', detail: reason } };
    // The simulator reads no message.
    if (claim.mode === 'test') return { withMessage: (use) => use(EMPTY) };
    const message = batch.messages.get(claim.emailId);
    if (!message) return { ending: { kind: 'failed', reason: 'content_unavailable' } };
    const key = batch.keys.get(claim.domainId);
    const ordinal = batch.ordinals.get(claim.organizationId);
    if (key instanceof Error) return { withMessage: () => Promise.reject(key) };
    if (!key || ordinal === undefined) return { ending: { kind: 'failed', reason: 'domain_removed' } };
    const address = (bytes: Buffer) => this.address(claim, message, { ordinal, key }, bytes);
    if (message.attachmentBytes > 0) {
      const id = { id: message.emailId, weight: message.attachmentBytes };
      const make = () => this.composeHeavy(message, key);
      return { withMessage: (use) => this.heavy.use(id, make, (bytes) => use(address(bytes))) };
    }
    const bytes = batch.composed.get(claim.emailId) ?? composeAhead(message, key);
    batch.composed.set(claim.emailId, bytes);
    return { withMessage: async (use) => use(address(await bytes)) };
  }

  private async composeHeavy(message: OutgoingMessage, key: SigningKey): Promise<Buffer> {
    return compose({ ...message, attachments: await this.messages.loadAttachments(message) }, key);
  }

  private address(
    claim: ClaimedDelivery,
    message: OutgoingMessage,
    { ordinal, key }: { ordinal: number; key: SigningKey },
    bytes: Buffer,
  ): SignedMessage {
    const { mode, emailId, position, firstDueAt, recipient } = claim;
    const expiresAt = new Date(firstDueAt.getTime() + DELIVERY_LIFE_MS + RETURN_PATH_MS);
    const localPart = this.returnPath.issue({ organizationOrdinal: ordinal, mode, emailId, position }, expiresAt);
    return {
      bytes,
      returnPath: envelopeSender(localPart, key.returnPathHost, this.config.delivery.mailHost),
      smtpUtf8: needsSmtpUtf8(recipient) || headerNeedsSmtpUtf8(message),
    };
  }
}

/** At the sender's own host if it has one, and the address stays within what a path may hold. */
function envelopeSender(localPart: string, alignedHost: string | undefined, ownHost: string): string {
  const aligned = `${localPart}@${alignedHost ?? ownHost}`;
  return aligned.length <= MAX_ADDRESS_CHARACTERS ? aligned : `${localPart}@${ownHost}`;
}

/** Composed and signed while its delivery waits for its turn. A failure is the attempt's, not the process's. */
function composeAhead(message: OutgoingMessage, key: SigningKey): Promise<Buffer> {
  const bytes = compose({ ...message, attachments: [] }, key);
  bytes.catch(() => undefined);
  return bytes;
}

const EMPTY: SignedMessage = { bytes: Buffer.alloc(0), returnPath: '', smtpUtf8: false };

async function compose(message: CompleteMessage, key: SigningKey): Promise<Buffer> {
  return signMessage(await composeMessage(message), key, { signedAt: message.date });
}
