import { setTimeout as delay } from 'node:timers/promises';
import { Injectable, Logger } from '@nestjs/common';
import { Clock, SECOND } from '../../common/clock';
import { AppError } from '../../common/errors/app-error';
import { Metrics } from '../../common/metrics/metrics';
import { MicroBatcher } from '../../common/async/micro-batcher';
import { Database } from '../../database/database.service';
import { OutcomeSink, type Settlement } from '../ports/outcome';
import { DeliveryQueueRepository } from '../queue/delivery-queue.repository';
import { ResultJournal } from './result-journal';

const RETRY_MS = SECOND;
/**
 * No caller waits for a result, and a transaction of 60 costs half as much per mail as one of 15 (Postgres 0.26 → 0.17 ms). What
 * is not committed when the process is killed is in the journal.
 */
const PATIENCE = { weight: 64, ms: 25, always: true };
/** Failures closer together than this belong to one outage. */
const QUIET_MS = 30 * SECOND;
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
  private loggedAtMs = -Infinity;
  private readonly batcher = new MicroBatcher<Settlement, Error | undefined>((batch) => this.commit(batch), {
    maxWeight: 200,
    concurrency: 2,
    patience: PATIENCE,
  });

  constructor(
    private readonly database: Database,
    private readonly queue: DeliveryQueueRepository,
    private readonly outcomes: OutcomeSink,
    private readonly journal: ResultJournal,
    private readonly clock: Clock,
    private readonly metrics: Metrics,
  ) {}

  /** Settles what a killed predecessor had read but not committed. To be called before the first claim. */
  async recover(): Promise<void> {
    const { left, discard } = this.journal.begin();
    if (left.length > 0) this.logger.log(`${left.length} acceptances of an earlier process are settled`);
    await Promise.all(left.map((settlement) => this.commitEventually(settlement)));
    discard();
  }

  /** Resolves once the result is committed, or known to be outdated. */
  async settle(settlement: Settlement): Promise<void> {
    if (!isAcceptance(settlement)) return this.commitEventually(settlement);
    this.journal.note(settlement);
    await this.commitEventually(settlement);
    this.journal.settled();
  }

  /** Ends the journal; to be called when nothing is under way. */
  end(): void {
    this.journal.end();
  }

  private async commitEventually(settlement: Settlement): Promise<void> {
    for (let failures = 0; ; failures += 1) {
      try {
        const failure = await this.batcher.add(settlement);
        if (failure) throw failure;
        return;
      } catch (error) {
        this.logOnce(error as Error);
        await delay(RETRY_MS * Math.min(10, 1 + failures));
      }
    }
  }

  /** Once per outage, not once per mail. */
  private logOnce(error: Error): void {
    const now = this.clock.monotonicMs();
    if (now - this.loggedAtMs > QUIET_MS) {
      this.logger.error(`Results could not be committed, trying again: ${error.message}`);
    }
    this.loggedAtMs = now;
  }

  /** One result that cannot be committed must not hold up its neighbours: then each goes by itself. */
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
    const taken = await this.database.transaction(async (tx) => {
      const indexes = await this.queue.settle(batch.map(toQueueResult), this.clock.now(), tx);
      const outcomes = indexes.flatMap((index) => batch[index]?.outcomes ?? []);
      await this.outcomes.record(outcomes, tx);
      return indexes.length;
    });
    this.count(batch, taken);
  }

  private count(batch: readonly Settlement[], taken: number): void {
    const settled = this.metrics.counter({
      name: 'deliveries_total',
      help: 'Delivery attempts by outcome',
      labels: ['outcome'],
    });
    for (const { outcomes } of batch) settled.inc({ outcome: outcomes[0].outcome.kind });
    if (taken === batch.length) return;
    const outdated = batch.length - taken;
    this.metrics
      .counter({ name: 'outdated_results_total', help: 'Results whose claim had passed to another worker' })
      .inc(outdated);
    this.logger.warn(`${outdated} results came too late: their claims have passed to another worker`);
  }
}

/** A 250 that was read for live mail: what must not be repeated. */
function isAcceptance({ claim, outcomes }: Settlement): boolean {
  const { kind } = outcomes[0].outcome;
  return claim.mode !== 'test' && (kind === 'sent' || kind === 'delivered');
}

function toQueueResult({ claim, outcomes }: Settlement) {
  const { outcome } = outcomes[0];
  const nextAttemptAt = outcome.kind === 'deferred' || outcome.kind === 'unknown' ? outcome.nextAttemptAt : null;
  return { ...claim, nextAttemptAt };
}
