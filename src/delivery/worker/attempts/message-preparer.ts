import { setImmediate as nextTurn } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import { UnavailableError } from '../../../common/errors/app-error';
import type { ClaimedDelivery } from '../../ports/delivery';
import { MessageSource, OrdinalSource, SigningKeySource } from '../../ports/sources';
import { ByteBudget } from '../../compose/byte-budget';
import { MessageComposer, type PreparedMessage } from '../../compose/message-composer';
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

/** Mails of a claim that continue in one turn of the event loop: a hundred at once delayed everything else by 20 ms. */
export const IN_A_TURN = 16;

/** From claims to bytes: the remaining recipients, the message, and its signature. */
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

  /**
   * One look-up each for messages, keys and suppressions, however many claims. When it fails, claims are prepared apart: what one
   * organization has stored, such as a secret that no key decrypts, holds up no other's mail.
   * @throws UnavailableError
   */
  async prepare(claims: readonly ClaimedDelivery[]): Promise<Map<ClaimedDelivery, Prepared>> {
    try {
      return await this.prepareTogether(claims);
    } catch (error) {
      if (error instanceof UnavailableError) throw error;
      return this.prepareApart(claims, error as Error);
    }
  }

  private async prepareApart(
    claims: readonly ClaimedDelivery[],
    error: Error,
  ): Promise<Map<ClaimedDelivery, Prepared>> {
    if (claims.length === 1) return new Map(claims.map((claim) => [claim, { kind: 'fault', error }]));
    const prepared = new Map<ClaimedDelivery, Prepared>();
    try {
      for (const part of partsOf(claims)) for (const entry of await this.prepare(part)) prepared.set(...entry);
    } catch (unavailable) {
      // All claims are given back, so what has been composed ahead is not used.
      for (const one of prepared.values()) if (one.kind === 'message') one.message.drop();
      throw unavailable;
    }
    return prepared;
  }

  private async prepareTogether(claims: readonly ClaimedDelivery[]): Promise<Map<ClaimedDelivery, Prepared>> {
    const prepared = new Map<ClaimedDelivery, Prepared>();
    for (const [claim, ending] of await this.endings.ofOver(claims)) prepared.set(claim, { kind: 'ending', ending });
    const open = claims.filter((claim) => !prepared.has(claim));
    const batch = await this.load(open);
    for (const [at, claim] of open.entries()) {
      if (at > 0 && at % IN_A_TURN === 0) await nextTurn();
      prepared.set(claim, this.tryOne(claim, batch));
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

  private tryOne(claim: ClaimedDelivery, batch: Batch): Prepared {
    try {
      return this.prepareOne(claim, batch);
    } catch (error) {
      return { kind: 'fault', error: error as Error };
    }
  }

  private prepareOne(claim: ClaimedDelivery, batch: Batch): Prepared {
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

type Batch = Awaited<ReturnType<MessagePreparer['load']>>;

/** The claims of each organization; of one organization, halves. */
function partsOf(claims: readonly ClaimedDelivery[]): Iterable<ClaimedDelivery[]> {
  const byOrganization = new Map<string, ClaimedDelivery[]>();
  for (const claim of claims) {
    const own = byOrganization.get(claim.organizationId);
    if (own) own.push(claim);
    else byOrganization.set(claim.organizationId, [claim]);
  }
  if (byOrganization.size > 1) return byOrganization.values();
  const half = claims.length / 2;
  return [claims.slice(0, half), claims.slice(half)];
}

function end(ending: UnattemptedEnding): Prepared {
  return { kind: 'ending', ending };
}
