import { Injectable } from '@nestjs/common';
import { Clock, DAY } from '../../common/clock';
import { deriveKey } from '../../common/crypto/key-ring';
import { needsSmtpUtf8 } from '../../common/mail-address';
import { AppConfig } from '../../config/config';
import { composeMessage } from '../message/compose-message';
import { headerNeedsSmtpUtf8 } from '../message/header-block';
import type { ClaimedDelivery } from '../ports/delivery';
import { MessageSource, type OutgoingMessage } from '../ports/message-source';
import type { DeliveryOutcome } from '../ports/outcome';
import { type SigningKey, SigningKeySource } from '../ports/signing-key-source';
import { OrdinalSource } from '../ports/ordinal-source';
import { DELIVERY_LIFE_MS } from '../policy/retry-schedule';
import { ReturnPath } from '../signing/return-path';
import { signMessage } from '../signing/sign-message';
import type { SignedMessage } from './transmitter';

/** A worker that died this often while it held the same delivery was probably killed by it. */
const MAX_CRASHES = 5;
/** Bounces may come this long after the last attempt. */
const RETURN_PATH_MS = 30 * DAY;

type Ending = Extract<DeliveryOutcome, { kind: 'failed' | 'bounced' }>;

/** Either a message to transmit, or the reason why none will be. */
export type Prepared = { readonly message: Promise<SignedMessage> } | { readonly ending: Ending };

/** From claims to bytes: who is still to be written to, what the mail says, and its signature. */
@Injectable()
export class MessagePreparer {
  private readonly returnPath: ReturnPath;

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
    if (claim.mode === 'test') return { message: Promise.resolve(EMPTY) };
    const message = batch.messages.get(claim.emailId);
    if (!message) return { ending: { kind: 'failed', reason: 'content_unavailable' } };
    const key = batch.keys.get(claim.domainId);
    const ordinal = batch.ordinals.get(claim.organizationId);
    if (key instanceof Error) return { message: failing(key) };
    if (!key || ordinal === undefined) return { ending: { kind: 'failed', reason: 'domain_removed' } };
    let bytes = batch.composed.get(claim.emailId);
    if (!bytes) {
      bytes = compose(message, key);
      batch.composed.set(claim.emailId, bytes);
    }
    return { message: bytes.then((signed) => this.address(claim, message, ordinal, signed)) };
  }

  private address(claim: ClaimedDelivery, message: OutgoingMessage, ordinal: number, bytes: Buffer): SignedMessage {
    const { mode, emailId, position, firstDueAt, recipient } = claim;
    const expiresAt = new Date(firstDueAt.getTime() + DELIVERY_LIFE_MS + RETURN_PATH_MS);
    const localPart = this.returnPath.issue({ organizationOrdinal: ordinal, mode, emailId, position }, expiresAt);
    return {
      bytes,
      returnPath: `${localPart}@${this.config.delivery.mailHost}`,
      smtpUtf8: needsSmtpUtf8(recipient) || headerNeedsSmtpUtf8(message),
    };
  }
}

/** Fails the attempt, not the process: whoever awaits it gets the error. */
function failing(error: Error): Promise<never> {
  const failed = Promise.reject<never>(error);
  failed.catch(() => undefined);
  return failed;
}

const EMPTY: SignedMessage = { bytes: Buffer.alloc(0), returnPath: '', smtpUtf8: false };

async function compose(message: OutgoingMessage, key: SigningKey): Promise<Buffer> {
  return signMessage(await composeMessage(message), key, { signedAt: message.date });
}
