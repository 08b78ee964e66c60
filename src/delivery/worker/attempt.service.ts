import { Injectable, Logger } from '@nestjs/common';
import { Clock } from '../../common/clock';
import { AppConfig } from '../../config/config';
import { releaseSignalOf, resolveOutcome, type TransmissionResult } from '../policy/transmission-result';
import type { AttemptTrace } from '../ports/attempt-trace';
import type { ClaimedDelivery } from '../ports/delivery';
import type { DeliveryOutcome, OutcomeSource, RecordedOutcome, Settlement } from '../ports/outcome';
import { simulate } from './simulate';
import type { ReleaseSignal } from '../policy/destination-limiter';
import type { Unroutable } from '../routing/router';
import type { PreparedMessage } from './message-composer';
import { SmtpTransmitter, type Target, type Transmission } from './smtp-transmitter';
import { WorkerSession } from './worker-session';

/** `released`: the attempt did not begin or was called off before its final dot, and is not charged. */
export type AttemptResult =
  { readonly kind: 'settled'; readonly settlement: Settlement } | { readonly kind: 'released' };

export const RELEASED: AttemptResult = { kind: 'released' };

/** What an attempt came to, and what it showed of its destination; `local`: this host has run out of something. */
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

/** One attempt at one delivery, from prepared message to outcome; or the outcome of one that is not made. */
@Injectable()
export class AttemptService {
  private readonly logger = new Logger(AttemptService.name);

  constructor(
    private readonly transmitter: SmtpTransmitter,
    private readonly session: WorkerSession,
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
  async run(claim: ClaimedDelivery, message: PreparedMessage, target: Target): Promise<EndedAttempt> {
    const mayFinish = (): boolean => this.session.holds(claim.sessionId);
    const started = { at: this.clock.now(), ms: this.clock.monotonicMs() };
    try {
      const sent = await message.use((signed) => this.transmitter.transmit(claim, signed, target, mayFinish));
      const durationMs = Math.round(this.clock.monotonicMs() - started.ms);
      return this.resolve(claim, sent, traceOf(sent, { startedAt: started.at, durationMs }, target.dnsMs));
    } catch (error) {
      return { result: this.fail(claim, error), signal: 'neutral' };
    }
  }

  private resolve(claim: ClaimedDelivery, sent: Transmission, trace: AttemptTrace): EndedAttempt {
    if (sent.kind === 'busy') return { result: RELEASED, signal: 'neutral' };
    if (sent.kind === 'failed' && sent.cause === 'local' && !sent.afterFinalDot) {
      return { result: RELEASED, signal: 'local' };
    }
    const [signal, cause] = [releaseSignalOf(sent), causeOf(sent)];
    if (sent.kind === 'failed' && sent.cause === 'aborted' && !sent.afterFinalDot) return { result: RELEASED, signal };
    const outcome = resolveOutcome(sent, this.retryFacts(claim));
    return { result: this.settled({ claim, outcome, source: 'smtp', trace }), signal, cause };
  }

  simulate(claim: ClaimedDelivery): AttemptResult {
    const { recipient, attempt } = claim;
    const { simulatorDomain } = this.config;
    const { outcome, followUps } = simulate({ recipient, attempt, now: this.clock.now(), simulatorDomain });
    const trace = { startedAt: this.clock.now(), durationMs: 0 };
    return this.settled({ claim, outcome, source: 'simulator', trace, followUps: followUps.map((kind) => ({ kind })) });
  }

  /** Our own mistake, not the remote side's: it is logged, and the mail keeps its retry schedule. */
  fail(claim: ClaimedDelivery, error: unknown): AttemptResult {
    const { emailId, position, organizationId } = claim;
    this.logger.error({ msg: 'A delivery attempt failed unexpectedly', emailId, position, organizationId, error });
    const failure = { kind: 'failed', cause: 'internal', afterFinalDot: false, smtp: {} } as const;
    const trace = { startedAt: this.clock.now(), durationMs: 0 };
    return this.settled({ claim, outcome: resolveOutcome(failure, this.retryFacts(claim)), source: 'worker', trace });
  }

  private settled({ claim, outcome, source, trace, followUps = [] }: Ending): AttemptResult {
    const { organizationId, mode, emailId, position, domainId, recipient, attempt } = claim;
    const base = { organizationId, mode, emailId, position, domainId, recipient, source, occurredAt: this.clock.now() };
    const first: RecordedOutcome = { ...base, outcome, trace, ...(attempt > 0 && { attempt }) };
    const rest = followUps.map((followUp): RecordedOutcome => ({ ...base, outcome: followUp }));
    return { kind: 'settled', settlement: { claim, outcomes: [first, ...rest] } };
  }

  private retryFacts({ attempt, firstDueAt, expiresAt }: ClaimedDelivery) {
    return { attempt, firstDueAt, expiresAt, now: this.clock.now(), random: Math.random };
  }
}

/** The facts of the conversation, with what came before it. */
function traceOf(
  sent: Transmission,
  attempt: Pick<AttemptTrace, 'startedAt' | 'durationMs'>,
  dnsMs: number | undefined,
): AttemptTrace {
  const trace = 'trace' in sent ? sent.trace : undefined;
  const dns = dnsMs === undefined ? undefined : { dns: Math.round(dnsMs) };
  const action = sent.kind === 'rejected' ? sent.classification.action : undefined;
  return { ...attempt, ...trace, phasesMs: { ...dns, ...trace?.phasesMs }, action };
}

function causeOf(result: TransmissionResult): string | undefined {
  if (result.kind === 'failed') return result.smtp.response ?? result.cause;
  return result.kind === 'rejected' ? result.smtp.response : undefined;
}
