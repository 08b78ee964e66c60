import { Injectable } from '@nestjs/common';
import { Clock } from '../../common/clock';
import { Database } from '../../database/database.service';
import { OutcomeSink, type Settlement } from '../ports/outcome';
import { DeliveryQueueRepository } from '../queue/delivery-queue.repository';

/** Commits results: queue, recipients, emails, events, counters and suppressions in one transaction. */
@Injectable()
export class ResultCommit {
  constructor(
    private readonly database: Database,
    private readonly queue: DeliveryQueueRepository,
    private readonly outcomes: OutcomeSink,
    private readonly clock: Clock,
  ) {}

  /** Answers how many were taken; the others carried an outdated token. @throws UnavailableError */
  commit(batch: readonly Settlement[]): Promise<number> {
    return this.database.transaction(async (tx) => {
      const indexes = await this.queue.settle(batch.map(toQueueResult), this.clock.now(), tx);
      const outcomes = indexes.flatMap((index) => batch[index]?.outcomes ?? []);
      await this.outcomes.record(outcomes, tx);
      return indexes.length;
    });
  }
}

function toQueueResult({ claim, outcomes }: Settlement) {
  const { outcome } = outcomes[0];
  const nextAttemptAt = outcome.kind === 'deferred' || outcome.kind === 'unknown' ? outcome.nextAttemptAt : null;
  return { ...claim, nextAttemptAt };
}
