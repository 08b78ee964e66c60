import { Injectable } from '@nestjs/common';
import { Clock } from '../../common/clock';
import { Database } from '../../database/database.service';
import type { ClaimedDelivery } from '../ports/delivery';
import { asSending, OutcomeSink, type RecordedOutcome, type Settlement } from '../ports/outcome';
import { DeliveryQueueRepository } from '../queue/delivery-queue.repository';
import { DeliveryReport } from './delivery-log';

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

/** A first attempt's beginning is written with its end: most last for milliseconds. `TellSendingJob` tells of the others. */
function outcomesOf({ claim, outcomes }: Settlement): readonly RecordedOutcome[] {
  return outcomes[0].attempt === 1 ? [asSending(claim), ...outcomes] : outcomes;
}

function toQueueResult({ claim, outcomes }: Settlement) {
  const { outcome } = outcomes[0];
  const nextAttemptAt = outcome.kind === 'deferred' || outcome.kind === 'unknown' ? outcome.nextAttemptAt : null;
  const { organizationId, mode, emailId, position, claimToken, attempt } = claim;
  return { organizationId, mode, emailId, position, claimToken, attempt, nextAttemptAt };
}
