import { setMaxListeners } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { Injectable, Logger } from '@nestjs/common';
import { MicroBatcher } from '../../common/async/micro-batcher';
import { Clock, SECOND } from '../../common/clock';
import { AppError } from '../../common/errors/app-error';
import { Database } from '../../database/database.service';
import type { ClaimedDelivery } from '../ports/delivery';
import { asSending, OutcomeSink, type RecordedOutcome, type Settlement } from '../ports/outcome';
import { DeliveryQueueRepository } from '../queue/delivery-queue.repository';
import { DeliveryReport } from './delivery-log';
import { ResultJournal } from './result-journal';

/** Commits results: queue, recipients, emails, events, counters and suppressions in one transaction. */
@Injectable()
export class ResultCommit {
  constructor(
    private readonly database: Database,
    private readonly queue: DeliveryQueueRepository,
    private readonly outcomes: OutcomeSink,
    private readonly clock: Clock,
    private readonly report: DeliveryReport,
  ) {}

  /** Records of claims under way that their first attempt has begun. @throws UnavailableError */
  begin(claims: readonly ClaimedDelivery[]): Promise<void> {
    return this.database.transaction((tx) => this.outcomes.record(claims.map(asSending), tx));
  }

  /** Returns how many were taken; the others carried an outdated token. @throws UnavailableError */
  async commit(batch: readonly Settlement[]): Promise<number> {
    const taken = await this.database.transaction(async (tx) => {
      const indexes = await this.queue.settle(batch.map(toQueueResult), this.clock.now(), tx);
      const held = indexes.flatMap((index) => batch[index] ?? []);
      await this.outcomes.record(held.flatMap(outcomesOf), tx);
      return held;
    });
    this.report.settled(taken, batch.length - taken.length);
    return taken.length;
  }
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
  const isAcceptance = isAccepted(settlement);
  return { organizationId, mode, emailId, position, claimToken, attempt, nextAttemptAt, isAcceptance, isRefusal };
}

const RETRY_MS = SECOND;
/**
 * No caller waits for a result, and what a transaction costs by itself (1.8 ms of Postgres) is shared by its mails: twice as
 * many took a tenth off each. What is not committed when the process is killed is in the journal.
 */
const PATIENCE = { weight: 128, ms: 50, always: true };
/** Failures closer together than this belong to one outage. */
const QUIET_MS = 30 * SECOND;
const MAX_BATCH = 200;
const NO_FAILURE = (): undefined => undefined;

/**
 * Commits results: queue, recipients, emails, events, counters and suppressions in one transaction per micro-batch.
 * While the database is away results are kept and tried again, so an outage by itself repeats no mail; a result whose
 * claim has been given to another worker by then changes nothing and is counted. Acceptances of live mail are noted in the
 * journal until they are committed, so that a killed process repeats none of them.
 */
@Injectable()
export class Settler {
  private readonly logger = new Logger(Settler.name);
  private readonly abandoned = new AbortController();
  private loggedAtMs = -Infinity;
  private readonly batcher = new MicroBatcher<Settlement, Error | undefined>((batch) => this.commit(batch), {
    maxWeight: MAX_BATCH,
    concurrency: 2,
    patience: PATIENCE,
  });

  constructor(
    private readonly results: ResultCommit,
    private readonly journal: ResultJournal,
    private readonly clock: Clock,
  ) {
    // Every result that waits out an outage listens.
    setMaxListeners(0, this.abandoned.signal);
  }

  /** Resolves once the result is committed, found outdated, or given up. */
  async settle(settlement: Settlement): Promise<void> {
    const { mode } = settlement.claim;
    const settled = mode !== 'test' && isAccepted(settlement) ? this.journal.note(settlement) : undefined;
    if (await this.commitEventually(settlement)) settled?.();
  }

  /** Tries no longer to commit; acceptances stay in the journal. To be called when the process must end. */
  abandon(): void {
    this.abandoned.abort();
  }

  /** Ends the journal; to be called when nothing is under way. */
  end(): void {
    this.journal.end();
  }

  /** False: given up. */
  private async commitEventually(settlement: Settlement): Promise<boolean> {
    const { signal } = this.abandoned;
    for (let failures = 0; !signal.aborted; failures += 1) {
      try {
        const failure = await this.batcher.add(settlement);
        if (failure) throw failure;
        return true;
      } catch (error) {
        this.logOnce(error as Error);
        await delay(RETRY_MS * Math.min(10, 1 + failures), undefined, { signal }).catch(() => undefined);
      }
    }
    return false;
  }

  /** Once per outage, not once per mail. */
  private logOnce(error: Error): void {
    const now = this.clock.monotonicMs();
    if (now - this.loggedAtMs > QUIET_MS) {
      this.logger.error(`Results could not be committed, trying again: ${error.message}`);
    }
    this.loggedAtMs = now;
  }

  /** One result that cannot be committed must not hold up the others of its batch: then each goes by itself. */
  private async commit(batch: readonly Settlement[]): Promise<(Error | undefined)[]> {
    try {
      await this.write(batch);
      return batch.map(() => undefined);
    } catch (error) {
      if (error instanceof AppError || batch.length === 1) throw error;
      const failures: (Error | undefined)[] = [];
      for (const settlement of batch) {
        failures.push(await this.write([settlement]).then(NO_FAILURE, (failure: Error) => failure));
      }
      return failures;
    }
  }

  private async write(batch: readonly Settlement[]): Promise<void> {
    const outdated = batch.length - (await this.results.commit(batch));
    if (outdated === 0) return;
    this.logger.warn(`${outdated} results came too late: their claims have passed to another worker`);
  }
}

/** A 250: the mail must not be repeated. */
function isAccepted({ outcomes }: Settlement): boolean {
  const { kind } = outcomes[0].outcome;
  return kind === 'sent' || kind === 'delivered';
}
