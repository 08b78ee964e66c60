import { setImmediate as nextTurn } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import { Clock, HOUR, MINUTE, SECOND } from '../../common/clock';
import { UnavailableError } from '../../common/errors/app-error';
import { DELIVERY_LIFE_MS, jitter } from '../policy/retry-schedule';
import { expiry } from '../policy/transmission-result';
import { ALONE_CRASHES, type ClaimedDelivery, POISON_CRASHES, SUSPECT_CRASHES } from '../ports/delivery';
import { MessageSource, OrdinalSource, SENDING_PAUSED, SigningKeySource } from '../ports/sources';
import { type DeliveryOutcome, ITS_TURN_WORDS } from '../ports/outcome';
import { RESULT_NOT_STORED } from '../queue/waiting';
import { type HeldBack, HeldDestinations } from '../shaping/held-destinations.service';
import { ByteBudget } from './byte-budget';
import { MessageComposer, type PreparedMessage } from './message-composer';
import { WorkerSlots } from './worker-slots';

const POISON = {
  kind: 'failed',
  reason: 'poison',
  detail:
    `${POISON_CRASHES} workers died while they held this mail, ` +
    `the last ${POISON_CRASHES - ALONE_CRASHES} while they tried it alone`,
} as const;

/** What becomes of a claim without an attempt. */
export type UnattemptedEnding = Extract<DeliveryOutcome, { kind: 'failed' | 'bounced' } | { nextAttemptAt: Date }>;

/** A commit over several nodes that was interrupted is completed within a minute, by the cluster's own recovery; ten are ample. */
const LATE_COMMIT_MS = 10 * MINUTE;
const LATE_COMMIT_RETRY_MS = 15 * SECOND;

/** The endings of claims for which no attempt is made, each with its cause in plain words. */
@Injectable()
export class UnattemptedEndings {
  constructor(
    private readonly held: HeldDestinations,
    private readonly slots: WorkerSlots,
    private readonly clock: Clock,
  ) {}

  /** Of those of the claims that are over before an attempt. @throws UnavailableError */
  async ofOver(claims: readonly ClaimedDelivery[]): Promise<Map<ClaimedDelivery, UnattemptedEnding>> {
    const endings = new Map<ClaimedDelivery, UnattemptedEnding>();
    const over: ClaimedDelivery[] = [];
    for (const claim of claims) {
      if (claim.crashes >= POISON_CRASHES) endings.set(claim, POISON);
      else if (this.isOver(claim)) over.push(claim);
    }
    if (over.length === 0) return endings;
    const held = await this.held.get();
    for (const claim of over) {
      const { destination } = claim;
      endings.set(claim, this.ofTime(claim, held.of(destination, this.slots.keyOf(destination))));
    }
    return endings;
  }

  /** Where emails are on several nodes, one of them may show its part of a commit later than the queue's does. */
  withoutContent({ firstDueAt }: ClaimedDelivery): UnattemptedEnding {
    const nowMs = this.clock.now().getTime();
    if (nowMs - firstDueAt.getTime() >= LATE_COMMIT_MS) return { kind: 'failed', reason: 'content_unavailable' };
    const explanation = 'Its content could not be read yet';
    return { ...this.until(nowMs + LATE_COMMIT_RETRY_MS), reason: 'content_unavailable', explanation };
  }

  /**
   * For about an hour, with jitter, so that a resumption does not start everything at once.
   * @param explanation why its domain is paused
   */
  ofPausedDomain(explanation: string): UnattemptedEnding {
    return {
      ...this.until(this.clock.now().getTime() + HOUR * jitter(Math.random)),
      reason: SENDING_PAUSED,
      explanation,
    };
  }

  private until(ms: number): { kind: 'deferred'; nextAttemptAt: Date } {
    return { kind: 'deferred', nextAttemptAt: new Date(ms) };
  }

  private isOver({ expiresAt, firstDueAt }: ClaimedDelivery): boolean {
    const nowMs = this.clock.now().getTime();
    return (expiresAt !== null && expiresAt.getTime() <= nowMs) || firstDueAt.getTime() + DELIVERY_LIFE_MS <= nowMs;
  }

  private ofTime(claim: ClaimedDelivery, held: HeldBack | undefined): UnattemptedEnding {
    const obstacle = obstacleOf(claim, held);
    // The claim has counted an attempt that is not made.
    const words = { explanation: expiry(claim.attempt - 1), ...(obstacle !== undefined && { obstacle }) };
    if (claim.expiresAt && claim.expiresAt <= this.clock.now()) {
      return { kind: 'failed', reason: 'expired', ...words };
    }
    return { kind: 'bounced', bounceType: 'soft', suppress: false, reason: 'retries exhausted', ...words };
  }
}

type Facts = Pick<ClaimedDelivery, 'destination' | 'crashes' | 'overdue'>;

/**
 * Why the next attempt did not start in time, for the sender, in plain words; undefined where only the last result may give it.
 * An operator's text is shown. Another tenant's reply is not: it may name a recipient.
 * @param held what all workers hold back of its destination's mail
 */
export function obstacleOf({ destination, crashes, overdue }: Facts, held: HeldBack | undefined): string | undefined {
  const { state, heldAt, heldReason } = overdue ?? {};
  if (state === 'held' || heldAt) return putAside(heldAt, heldReason ?? '');
  if (crashes >= SUSPECT_CRASHES) return 'workers had died while they held it, so that it waited to be tried apart';
  if (held && (state !== 'waiting' || held.state === 'paused')) return heldBack(destination, held);
  return state === 'ready' ? ITS_TURN_WORDS : undefined;
}

function putAside(heldAt: Date | null | undefined, reason: string): string {
  if (reason.startsWith(RESULT_NOT_STORED)) return 'the result of its last attempt could not be stored';
  return `the operator of this service had put it aside${since(heldAt)}${because(reason)}`;
}

function heldBack(destination: string, { state, cause, operator }: HeldBack): string {
  if (operator) {
    const what =
      state === 'paused' ? `paused mail to ${destination}` : `limited mail to ${destination} (${operator.effect})`;
    return `the operator of this service had ${what}${since(operator.since)}${because(cause)}`;
  }
  switch (state) {
    case 'paused':
      return `mail to ${destination} was paused, as its servers had refused mail from this service or had not answered`;
    case 'probing':
      return `${destination} got one mail at a time, as its servers had refused mail from this service or had not answered`;
    case 'slowed':
      return `${destination} took less mail from this service than there was for it`;
  }
}

function since(at: Date | null | undefined): string {
  return at ? ` since ${at.toISOString().slice(0, 19)}Z` : '';
}

function because(reason: string | null | undefined): string {
  return reason ? `: ${reason}` : '';
}

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
    for (const part of partsOf(claims)) for (const entry of await this.prepare(part)) prepared.set(...entry);
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
