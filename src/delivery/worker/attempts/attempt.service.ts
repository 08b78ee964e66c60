import { Injectable, Logger } from '@nestjs/common';
import { Clock, HOUR } from '../../../common/clock';
import { UnavailableError } from '../../../common/errors/app-error';
import { withoutAddresses } from '../../../common/erasure/without-addresses';
import { AppConfig } from '../../../config/config';
import { releaseSignalOf, resolveOutcome } from '../../policy/transmission-result';
import type { AttemptTrace } from '../../ports/attempt-trace';
import type { ClaimedDelivery } from '../../ports/delivery';
import {
  type DeliveryOutcome,
  type OutcomeSource,
  type RecordedOutcome,
  type Settlement,
  WARMING_UP,
  WARMING_UP_WORDS,
} from '../../ports/outcome';
import { simulate } from './simulate';
import type { ReleaseSignal } from '../../policy/destinations/destination-bounds';
import type { Unroutable } from '../../routing/router';
import type { PreparedMessage } from '../../compose/message-composer';
import { ShapingSync } from '../slots/shaping-sync.job';
import type { Transmission } from './smtp-transmitter';
import { type GroupTarget, SourceTransmitter } from './source-transmitter';

/** `released`: the attempt did not begin or was called off before its final dot, and is not charged. */
export type AttemptResult =
  | { readonly kind: 'settled'; readonly settlement: Settlement }
  | { readonly kind: 'released' };

export const RELEASED: AttemptResult = { kind: 'released' };

/** The result of an attempt, and its finding about the destination; `local`: this host ran out of a resource. */
export interface EndedAttempt {
  readonly result: AttemptResult;
  readonly signal: ReleaseSignal | 'local';
  readonly cause?: string | undefined;
}

/** How an attempt ended, or a delivery without one. */
interface Ending {
  readonly claim: ClaimedDelivery;
  readonly outcome: DeliveryOutcome;
  readonly source: OutcomeSource;
  /** Absent when no attempt was made. */
  readonly trace?: AttemptTrace;
  readonly followUps?: readonly DeliveryOutcome[];
}

const NOT_MADE = { signal: 'neutral' } as const;
/** Mail that waits for an address's next day of warm-up is spread, so that it does not come back all at once. */
const NEXT_DAY_SPREAD_MS = HOUR;

/** One attempt at one delivery, from prepared message to outcome; or the outcome of one that is not made. */
@Injectable()
export class AttemptService {
  private readonly logger = new Logger(AttemptService.name);

  constructor(
    private readonly transmitter: SourceTransmitter,
    private readonly shaping: ShapingSync,
    private readonly config: AppConfig,
    private readonly clock: Clock,
  ) {}

  /** No attempt is made: the one that the claim counted is taken back. */
  end(claim: ClaimedDelivery, ending: DeliveryOutcome): AttemptResult {
    return this.settled({ claim: { ...claim, attempt: claim.attempt - 1 }, outcome: ending, source: 'worker' });
  }

  /** @param dnsMs what it took to find that out */
  unroutable(claim: ClaimedDelivery, route: Unroutable, dnsMs: number): AttemptResult {
    const startedAt = new Date(this.clock.now().getTime() - dnsMs);
    const trace = { startedAt, durationMs: Math.round(dnsMs), phasesMs: { dns: Math.round(dnsMs) } };
    return this.settled({ claim, outcome: resolveOutcome(route, this.retryFacts(claim)), source: 'smtp', trace });
  }

  /** Never rejects. */
  async run(claim: ClaimedDelivery, message: PreparedMessage, target: GroupTarget): Promise<EndedAttempt> {
    const { group } = target;
    this.observed(() => this.shaping.begin(group, claim.destination, target.hosts));
    const ended = await this.make(claim, message, target);
    const { result, signal } = ended;
    const isMade = result.kind === 'settled' && result.settlement.outcomes[0].trace !== undefined;
    if (isMade && signal !== 'local') this.observed(() => this.shaping.end(group, result.settlement, signal));
    return ended;
  }

  /** What is noted of the destination changes nothing of the attempt: a reply that has come must be settled. */
  private observed(note: () => void): void {
    try {
      note();
    } catch (error) {
      this.logger.error({ msg: 'An attempt could not be noted for its destination', error });
    }
  }

  private async make(claim: ClaimedDelivery, message: PreparedMessage, target: GroupTarget): Promise<EndedAttempt> {
    const started = { at: this.clock.now(), ms: this.clock.monotonicMs() };
    try {
      const attempted = await message.use((signed) => this.transmitter.transmit(claim, signed, target));
      if (attempted.kind === 'warming') {
        return { result: this.end(claim, this.untilNextDay(claim, attempted.until)), ...NOT_MADE };
      }
      const { sent, isSourceRefused } = attempted;
      const durationMs = Math.round(this.clock.monotonicMs() - started.ms);
      const ended = this.resolve(claim, sent, traceOf(sent, { startedAt: started.at, durationMs }, target.dnsMs));
      // The receiver has nothing against what leaves from elsewhere.
      return isSourceRefused ? { ...ended, signal: 'neutral' } : ended;
    } catch (error) {
      if (error instanceof UnavailableError) return { result: RELEASED, ...NOT_MADE };
      return { result: this.fail(claim, error), signal: 'neutral' };
    }
  }

  /** It is put off, not tried: no later than its own end. */
  private untilNextDay({ expiresAt }: ClaimedDelivery, until: Date): DeliveryOutcome {
    const wantedMs = until.getTime() + Math.random() * NEXT_DAY_SPREAD_MS;
    const nextAttemptAt = new Date(Math.min(wantedMs, expiresAt?.getTime() ?? Infinity));
    return { kind: 'deferred', nextAttemptAt, reason: WARMING_UP, explanation: WARMING_UP_WORDS };
  }

  private resolve(claim: ClaimedDelivery, sent: Transmission, trace: AttemptTrace): EndedAttempt {
    if (sent.kind === 'busy') return { result: RELEASED, signal: 'neutral' };
    if (sent.kind === 'failed' && sent.cause === 'local' && !sent.afterFinalDot) {
      return { result: RELEASED, signal: 'local' };
    }
    const [signal, cause] = [releaseSignalOf(sent, this.config.delivery.mode !== 'direct'), causeOf(sent)];
    if (sent.kind === 'failed' && sent.cause === 'aborted' && !sent.afterFinalDot) return { result: RELEASED, signal };
    const outcome = resolveOutcome(sent, this.retryFacts(claim));
    return { result: this.settled({ claim, outcome, source: 'smtp', trace }), signal, cause };
  }

  simulate(claim: ClaimedDelivery): AttemptResult {
    const { recipient, attempt } = claim;
    const { simulatorDomain } = this.config;
    const { outcome, action, followUps } = simulate({ recipient, attempt, now: this.clock.now(), simulatorDomain });
    const trace = { startedAt: this.clock.now(), durationMs: 0, action };
    return this.settled({ claim, outcome, source: 'simulator', trace, followUps: followUps.map((kind) => ({ kind })) });
  }

  /** An error of this service, not of the remote side: it is logged, and the mail keeps its retry schedule. */
  fail(claim: ClaimedDelivery, error: unknown): AttemptResult {
    const { emailId, position, organizationId } = claim;
    this.logger.error({ msg: 'A delivery attempt failed unexpectedly', emailId, position, organizationId, error });
    const failure = { kind: 'failed', cause: 'internal', afterFinalDot: false, smtp: {} } as const;
    const trace = { startedAt: this.clock.now(), durationMs: 0 };
    return this.settled({ claim, outcome: resolveOutcome(failure, this.retryFacts(claim)), source: 'worker', trace });
  }

  private settled({ claim, outcome, source, trace, followUps = [] }: Ending): AttemptResult {
    const { organizationId, mode, emailId, position, domainId, recipient, attempt } = claim;
    const occurredAt = this.clock.now();
    // Field by field: a copy with more fields is slow to make, and every mail comes by here.
    const first: RecordedOutcome = {
      organizationId,
      mode,
      emailId,
      position,
      domainId,
      recipient,
      source,
      occurredAt,
      outcome,
      trace,
      attempt: attempt > 0 ? attempt : undefined,
    };
    const rest = followUps.map((followUp) => ({ ...first, outcome: followUp, trace: undefined, attempt: undefined }));
    return { kind: 'settled', settlement: { claim, outcomes: [first, ...rest] } };
  }

  private retryFacts({ attempt, refusals, firstDueAt, expiresAt }: ClaimedDelivery) {
    return { attempt, refusals, firstDueAt, expiresAt, now: this.clock.now(), random: Math.random };
  }
}

/** The facts of the conversation, with what came before it. */
function traceOf(
  sent: Transmission,
  attempt: Pick<AttemptTrace, 'startedAt' | 'durationMs'>,
  dnsMs: number | undefined,
): AttemptTrace {
  const trace = 'trace' in sent ? sent.trace : undefined;
  const phasesMs = dnsMs === undefined ? (trace?.phasesMs ?? {}) : { dns: Math.round(dnsMs), ...trace?.phasesMs };
  return {
    startedAt: attempt.startedAt,
    durationMs: attempt.durationMs,
    route: trace?.route,
    tls: trace?.tls,
    policy: trace?.policy,
    phasesMs,
    action: sent.kind === 'rejected' ? sent.classification.action : undefined,
  };
}

/** Kept for the destination, which erasures of recipients do not search. */
function causeOf(result: Transmission): string | undefined {
  if (result.kind !== 'failed' && result.kind !== 'rejected') return undefined;
  const { response } = result.smtp;
  if (response !== undefined) return withoutAddresses(response);
  return result.kind === 'failed' ? result.cause : undefined;
}
