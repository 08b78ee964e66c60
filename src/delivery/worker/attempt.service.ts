import { Injectable, Logger } from '@nestjs/common';
import { Clock } from '../../common/clock';
import { AppConfig } from '../../config/config';
import { releaseSignalOf, resolveOutcome, type TransmissionResult } from '../policy/transmission-result';
import type { ClaimedDelivery } from '../ports/delivery';
import type { DeliveryOutcome, OutcomeSource, RecordedOutcome, Settlement } from '../ports/outcome';
import { simulate } from './simulate';
import { DestinationSlots } from './destination-slots';
import type { PreparedMessage } from './message-composer';
import type { Prepared } from './message-preparer';
import { SmtpTransmitter } from './smtp-transmitter';

/** `released`: the attempt did not begin or was called off before its final dot, and is not charged. */
export type AttemptResult =
  { readonly kind: 'settled'; readonly settlement: Settlement } | { readonly kind: 'released' };

const RELEASED: AttemptResult = { kind: 'released' };

/** One attempt at one delivery, from prepared message to outcome. */
@Injectable()
export class AttemptService {
  private readonly logger = new Logger(AttemptService.name);

  constructor(
    private readonly transmitter: SmtpTransmitter,
    private readonly slots: DestinationSlots,
    private readonly config: AppConfig,
    private readonly clock: Clock,
  ) {}

  /** @param mayFinish asked right before the final dot */
  async run(claim: ClaimedDelivery, prepared: Prepared, mayFinish: () => boolean): Promise<AttemptResult> {
    // No attempt was made: the one that the claim counted is taken back.
    if ('ending' in prepared) return this.settled({ ...claim, attempt: claim.attempt - 1 }, prepared.ending, 'worker');
    if (claim.mode === 'test') return this.simulate(claim);
    try {
      return await this.transmit(claim, prepared, mayFinish);
    } catch (error) {
      return this.unforeseen(claim, error);
    }
  }

  /** Begins nothing more: what waits for its turn is given back. Conversations go on. */
  stop(): void {
    this.slots.close();
    this.transmitter.dropWaiting();
  }

  private async transmit(
    claim: ClaimedDelivery,
    { withMessage }: PreparedMessage,
    mayFinish: () => boolean,
  ): Promise<AttemptResult> {
    if (!(await this.slots.acquire(claim.destination))) return RELEASED;
    let result: TransmissionResult | undefined;
    try {
      result = await withMessage((message) => this.transmitter.transmit(claim, message, mayFinish));
    } finally {
      this.slots.release(claim.destination, result ? releaseSignalOf(result) : 'neutral', causeOf(result));
    }
    if (result.kind === 'failed' && result.cause === 'aborted' && !result.afterFinalDot) return RELEASED;
    return this.settled(claim, resolveOutcome(result, this.retryFacts(claim)), 'smtp');
  }

  private simulate(claim: ClaimedDelivery): AttemptResult {
    const { recipient, attempt } = claim;
    const { simulatorDomain } = this.config;
    const { outcome, followUps } = simulate({ recipient, attempt, now: this.clock.now(), simulatorDomain });
    return this.settled(
      claim,
      outcome,
      'simulator',
      followUps.map((kind) => ({ kind })),
    );
  }

  /** Our own mistake, not the remote side's: it is logged, and the mail keeps its retry schedule. */
  private unforeseen(claim: ClaimedDelivery, error: unknown): AttemptResult {
    const { emailId, position, organizationId } = claim;
    this.logger.error({ msg: 'A delivery attempt failed unexpectedly', emailId, position, organizationId, error });
    const failure = { kind: 'failed', cause: 'internal', afterFinalDot: false, smtp: {} } as const;
    return this.settled(claim, resolveOutcome(failure, this.retryFacts(claim)), 'worker');
  }

  private settled(
    claim: ClaimedDelivery,
    outcome: DeliveryOutcome,
    source: OutcomeSource,
    followUps: readonly DeliveryOutcome[] = [],
  ): AttemptResult {
    const { organizationId, mode, emailId, position, domainId, recipient, attempt } = claim;
    const base = { organizationId, mode, emailId, position, domainId, recipient, source, occurredAt: this.clock.now() };
    const first: RecordedOutcome = { ...base, outcome, ...(attempt > 0 && { attempt }) };
    const rest = followUps.map((followUp): RecordedOutcome => ({ ...base, outcome: followUp }));
    return { kind: 'settled', settlement: { claim, outcomes: [first, ...rest] } };
  }

  private retryFacts({ attempt, firstDueAt, expiresAt }: ClaimedDelivery) {
    return { attempt, firstDueAt, expiresAt, now: this.clock.now(), random: Math.random };
  }
}

function causeOf(result: TransmissionResult | undefined): string | undefined {
  if (result?.kind === 'failed') return result.smtp.response ?? result.cause;
  return result?.kind === 'rejected' ? result.smtp.response : undefined;
}
