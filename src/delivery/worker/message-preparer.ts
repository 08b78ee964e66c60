import { setImmediate as nextTurn } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import type { ClaimedDelivery } from '../ports/delivery';
import { MessageSource } from '../ports/message-source';
import { OrdinalSource, SigningKeySource } from '../ports/sender-sources';
import { ByteBudget } from './byte-budget';
import { MessageComposer, type PreparedMessage } from './message-composer';
import { type UnattemptedEnding, UnattemptedEndings } from './unattempted-endings';

/** A message to transmit, or what is to be done instead. */
export type Prepared =
  | { readonly kind: 'message'; readonly message: PreparedMessage }
  | { readonly kind: 'ending'; readonly ending: UnattemptedEnding }
  /** Test mode: no message is needed. */
  | { readonly kind: 'simulation' }
  /** Nothing that the sender or the receiver did. */
  | { readonly kind: 'fault'; readonly error: Error };

/** Of small bodies, as they are stored, in one claim. */
const MAX_BODY_BYTES = 8 * 1024 * 1024;
/** What composing a small message takes for each byte, in the budget. */
const COST_PER_BYTE = 6;

/** Mails of a claim that go on in one turn of the event loop: a hundred at once kept all else waiting for 20 ms. */
export const IN_A_TURN = 16;

/** From claims to bytes: who is still to be written to, what the mail says, and its signature. */
@Injectable()
export class MessagePreparer {
  constructor(
    private readonly messages: MessageSource,
    private readonly keys: SigningKeySource,
    private readonly ordinals: OrdinalSource,
    private readonly composer: MessageComposer,
    private readonly budget: ByteBudget,
    private readonly endings: UnattemptedEndings,
  ) {}

  /** One look-up each for messages, keys and suppressions, however many claims. @throws UnavailableError */
  async prepare(claims: readonly ClaimedDelivery[]): Promise<Map<ClaimedDelivery, Prepared>> {
    const prepared = new Map<ClaimedDelivery, Prepared>();
    for (const [claim, ending] of await this.endings.ofOver(claims)) prepared.set(claim, { kind: 'ending', ending });
    const open = claims.filter((claim) => !prepared.has(claim));
    const batch = await this.load(open);
    for (const [at, claim] of open.entries()) {
      if (at > 0 && at % IN_A_TURN === 0) await nextTurn();
      prepared.set(claim, this.prepareOne(claim, batch));
    }
    return prepared;
  }

  private async load(claims: readonly ClaimedDelivery[]) {
    const live = claims.filter((claim) => claim.mode === 'live');
    const organizationIds = [...new Set(live.map((claim) => claim.organizationId))];
    const [messages, keys, ordinals, blocked] = await Promise.all([
      this.messages.load([...new Map(live.map((claim) => [claim.emailId, claim])).values()], this.bodyRoom()),
      this.keys.keysFor([...new Map(live.map((claim) => [claim.domainId, claim])).values()]),
      this.ordinals.ordinalsOf(organizationIds),
      this.messages.findBlocked(claims),
    ]);
    return { messages, keys, ordinals, blocked };
  }

  private bodyRoom(): number {
    return Math.min(MAX_BODY_BYTES, this.budget.aheadRoom / COST_PER_BYTE);
  }

  private prepareOne(claim: ClaimedDelivery, batch: Awaited<ReturnType<MessagePreparer['load']>>): Prepared {
    const reason = batch.blocked.get(claim);
    if (reason !== undefined) return end({ kind: 'failed', reason: 'blocked', detail: reason });
    // The simulator reads no message.
    if (claim.mode === 'test') return { kind: 'simulation' };
    const message = batch.messages.get(claim.emailId);
    if (!message) return end(this.endings.withoutContent(claim));
    const key = batch.keys.get(claim.domainId);
    const ordinal = batch.ordinals.get(claim.organizationId);
    if (key instanceof Error) return { kind: 'fault', error: key };
    if (key && 'whyPaused' in key) return end(this.endings.ofPausedDomain(key.whyPaused));
    if (!key || ordinal === undefined) return end({ kind: 'failed', reason: 'domain_removed' });
    return { kind: 'message', message: this.composer.prepare({ claim, message, key, ordinal }) };
  }
}

function end(ending: UnattemptedEnding): Prepared {
  return { kind: 'ending', ending };
}
