import { Injectable, Logger } from '@nestjs/common';
import { Clock } from '../../common/clock';
import { AppError, CommitUnknownError } from '../../common/errors/app-error';
import { Database } from '../../database/pool/database.service';
import type { ClaimedDelivery } from '../ports/delivery';
import { asSending, type DeliveryOutcome, OutcomeSink, type RecordedOutcome, type Settlement } from '../ports/outcome';
import { DeliveryQueueRepository } from '../queue/delivery-queue.repository';
import { RESULT_NOT_STORED } from '../queue/waiting';
import { DeliveryReport } from './delivery-log';
import type { Salvage } from './delivery.metrics';

/** Commits results: queue, recipients, emails, events, counters and suppressions in one transaction. */
@Injectable()
export class ResultCommit {
  private readonly logger = new Logger(ResultCommit.name);
  /** Results whose commit nobody has confirmed, since the connection was lost in it. */
  private readonly unconfirmed = new WeakSet<Settlement>();

  constructor(
    private readonly database: Database,
    private readonly queue: DeliveryQueueRepository,
    private readonly outcomes: OutcomeSink,
    private readonly clock: Clock,
    private readonly report: DeliveryReport,
  ) {}

  /**
   * Records of claims under way that their first attempt has begun; one of which that cannot be recorded is left out, as its result
   * records it again. @throws UnavailableError
   */
  async begin(claims: readonly ClaimedDelivery[]): Promise<void> {
    try {
      await this.database.transaction((tx) => this.outcomes.record(claims.map(asSending), tx));
    } catch (error) {
      if (error instanceof AppError) throw error;
      if (claims.length > 1) for (const claim of claims) await this.begin([claim]);
      else this.logger.warn({ msg: 'The start of an attempt could not be recorded', ...keyOf(claims[0]), error });
    }
  }

  /**
   * Returns how many were taken; the others carried an outdated token. One whose token is outdated by its own commit, of which no reply
   * came, has been taken. @throws UnavailableError
   */
  async commit(batch: readonly Settlement[]): Promise<number> {
    const written = new Set(await this.write(batch));
    const taken = batch.filter((settlement) => written.has(settlement) || this.unconfirmed.has(settlement));
    this.report.settled(taken, batch.length - taken.length);
    return taken.length;
  }

  private async write(batch: readonly Settlement[]): Promise<Settlement[]> {
    try {
      return await this.database.transaction(async (tx) => {
        const indexes = await this.queue.settle(batch.map(toQueueResult), this.clock.now(), tx);
        const held = indexes.flatMap((index) => batch[index] ?? []);
        await this.outcomes.record(held.flatMap(outcomesOf), tx);
        return held;
      });
    } catch (error) {
      if (error instanceof CommitUnknownError) for (const settlement of batch) this.unconfirmed.add(settlement);
      throw error;
    }
  }

  /**
   * Keeps what it can of a result that the database refuses, whatever the reason: without the details; else only when the next attempt
   * is; else it puts the delivery aside, so that no worker repeats it.
   * @throws UnavailableError, or the database's error when even that is refused
   */
  async salvage(settlement: Settlement, cause: Error): Promise<Salvage> {
    const kept = (await this.reduce(settlement)) ?? (await this.leave(settlement));
    this.report.salvaged(kept);
    const { code, enhancedCode, phase } = smtpOf(settlement.outcomes[0].outcome);
    const said = { outcome: settlement.outcomes[0].outcome.kind, code, enhancedCode, phase };
    this.logger.error({
      msg: `A result cannot be stored: ${KEPT[kept]}`,
      ...keyOf(settlement.claim),
      ...said,
      error: cause,
    });
    return kept;
  }

  /** Of an acceptance that is put aside. @returns false when it is refused again @throws UnavailableError */
  async retry(settlement: Settlement): Promise<boolean> {
    const taken =
      (await orRefused(this.commit([settlement]))) ?? (await orRefused(this.commit([withoutDetails(settlement)])));
    if (taken) this.logger.log({ msg: 'An acceptance that was put aside is stored', ...keyOf(settlement.claim) });
    return taken !== undefined;
  }

  /** So that no worker repeats it. @throws UnavailableError, or the database's error */
  async hold({ claim, outcomes }: Settlement): Promise<void> {
    const isAcceptance = isAccepted(outcomes[0].outcome);
    const reason = isAcceptance
      ? `${RESULT_NOT_STORED}: it was accepted, so releasing it sends it again`
      : RESULT_NOT_STORED;
    await this.queue.putAside({ ...claim, isAcceptance, reason });
  }

  private async reduce(settlement: Settlement): Promise<Salvage | undefined> {
    const reduced = await orRefused(this.commit([withoutDetails(settlement)]));
    return reduced === undefined ? undefined : 'reduced';
  }

  private async leave(settlement: Settlement): Promise<Salvage> {
    const result = toQueueResult(settlement);
    if (result.nextAttemptAt !== null) {
      const settle = this.database.transaction((tx) => this.queue.settle([result], this.clock.now(), tx));
      if ((await orRefused(settle)) !== undefined) return 'queue';
    }
    await this.hold(settlement);
    return 'held';
  }
}

const KEPT: Readonly<Record<Salvage, string>> = {
  reduced: 'it is recorded without its details',
  queue: 'the next attempt is made as planned, and this one has no event',
  held: 'its delivery is put aside (held), so that it is not repeated',
};

/** Undefined when the database refuses it. @throws UnavailableError */
async function orRefused<Result>(work: Promise<Result>): Promise<Result | undefined> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof AppError) throw error;
    return undefined;
  }
}

/** A 250: the mail must not be repeated. */
export function isAccepted({ kind }: DeliveryOutcome): boolean {
  return kind === 'sent' || kind === 'delivered';
}

/** A first attempt's start is written with its end: most last for milliseconds. `RecordSendingJob` records the others. */
function outcomesOf({ claim, outcomes }: Settlement): readonly RecordedOutcome[] {
  return outcomes[0].attempt === 1 ? [asSending(claim), ...outcomes] : outcomes;
}

function toQueueResult(settlement: Settlement) {
  const { claim, outcomes } = settlement;
  const { outcome } = outcomes[0];
  const isPutOff = outcome.kind === 'deferred' || outcome.kind === 'unknown';
  const nextAttemptAt = isPutOff ? outcome.nextAttemptAt : null;
  const isRefusal = isPutOff && outcome.isRefusal === true;
  const { organizationId, mode, emailId, position, claimToken, attempt } = claim;
  const isAcceptance = isAccepted(outcome);
  return { organizationId, mode, emailId, position, claimToken, attempt, nextAttemptAt, isAcceptance, isRefusal };
}

/** The outcome alone: nothing that came from another server, or was measured. */
function withoutDetails({ claim, outcomes: [first] }: Settlement): Settlement {
  return { claim, outcomes: [{ ...first, trace: undefined, outcome: plain(first.outcome) }] };
}

function plain(outcome: DeliveryOutcome): DeliveryOutcome {
  switch (outcome.kind) {
    case 'sent':
    case 'delivered':
      return { kind: outcome.kind };
    case 'deferred':
    case 'unknown':
    case 'bounced':
      return { ...outcome, smtp: undefined, explanation: RESULT_NOT_STORED };
    case 'failed':
      return { kind: outcome.kind, reason: outcome.reason, explanation: RESULT_NOT_STORED };
    case 'sending':
    case 'spam_report':
    case 'unsubscribed':
    case 'opened':
    case 'clicked':
      return outcome;
  }
}

function smtpOf(outcome: DeliveryOutcome) {
  return ('smtp' in outcome ? outcome.smtp : undefined) ?? {};
}

function keyOf(claim: ClaimedDelivery | undefined) {
  const { organizationId, mode, emailId, position, attempt } = claim ?? {};
  return { organizationId, mode, emailId, position, attempt };
}
