import { setTimeout as delay } from 'node:timers/promises';
import { Injectable, Logger } from '@nestjs/common';
import { Clock, SECOND } from '../../common/clock';
import { AppError } from '../../common/errors/app-error';
import { Metrics } from '../../common/metrics/metrics';
import { MicroBatcher } from '../../common/async/micro-batcher';
import { Database } from '../../database/database.service';
import type { ClaimedDelivery } from '../ports/delivery';
import { OutcomeSink, type RecordedOutcome } from '../ports/outcome';
import { DeliveryQueueRepository } from '../queue/delivery-queue.repository';

/** What became of a claim: its outcome, and what followed it at once (the simulator's opens and complaints). */
export interface Settlement {
  readonly claim: ClaimedDelivery;
  readonly outcomes: readonly [RecordedOutcome, ...RecordedOutcome[]];
}

const RETRY_MS = SECOND;
/**
 * Nobody waits for a result, and a transaction of 60 costs half as much per mail as one of 15 (Postgres 0.26 → 0.17 ms). What
 * is not committed when the process is killed is in the journal.
 */
const PATIENCE = { weight: 64, ms: 25, always: true };
/** Failures closer together than this belong to one outage. */
const QUIET_MS = 30 * SECOND;
const NO_FAILURE = (): undefined => undefined;

/**
 * Commits results: queue, recipients, emails, events, counters and suppressions in one transaction per micro-batch.
 * While the database is away results are kept and tried again, so an outage by itself repeats no mail; a result whose
 * claim has been given to someone else by then changes nothing and is counted.
 */
@Injectable()
export class Settler {
  private readonly logger = new Logger(Settler.name);
  private toldAtMs = -Infinity;
  private readonly batcher = new MicroBatcher<Settlement, Error | undefined>((batch) => this.commit(batch), {
    maxWeight: 200,
    concurrency: 2,
    patience: PATIENCE,
  });

  constructor(
    private readonly database: Database,
    private readonly queue: DeliveryQueueRepository,
    private readonly outcomes: OutcomeSink,
    private readonly clock: Clock,
    private readonly metrics: Metrics,
  ) {}

  /** Resolves once the result is committed, or known to be outdated. */
  async settle(settlement: Settlement): Promise<void> {
    for (let failures = 0; ; failures += 1) {
      try {
        const failure = await this.batcher.add(settlement);
        if (failure) throw failure;
        return;
      } catch (error) {
        this.tellOnce(error as Error);
        await delay(RETRY_MS * Math.min(10, 1 + failures));
      }
    }
  }

  /** Once per outage, not once per mail. */
  private tellOnce(error: Error): void {
    const now = this.clock.monotonicMs();
    if (now - this.toldAtMs > QUIET_MS) {
      this.logger.error(`Results could not be committed, trying again: ${error.message}`);
    }
    this.toldAtMs = now;
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

function toQueueResult({ claim, outcomes }: Settlement) {
  const { outcome } = outcomes[0];
  const nextAttemptAt = outcome.kind === 'deferred' || outcome.kind === 'unknown' ? outcome.nextAttemptAt : null;
  return { ...claim, nextAttemptAt };
}
