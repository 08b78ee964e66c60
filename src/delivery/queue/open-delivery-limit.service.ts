import { Injectable } from '@nestjs/common';
import type { Counter } from 'prom-client';
import { BriefCache } from '../../common/async/promises';
import { Clock, SECOND } from '../../common/clock';
import { AppError } from '../../common/errors/app-error';
import { Metrics } from '../../common/metrics/metrics';
import { AppConfig } from '../../config/config';
import { acrossTenants } from '../../common/tenant';
import { QueueMeasures } from './queue-measures.service';

const CACHE_MS = 2 * SECOND;
const RETRY_AFTER_SECONDS = 60;

/**
 * The share of an organization in the queue: with `OPEN_DELIVERIES_PER_ORGANIZATION` of them, its next mail is refused until some
 * have ended. Read from the last count of the queue, so that it costs a send nothing; what is accepted between two counts, of
 * seconds, exceeds it.
 */
@Injectable()
export class OpenDeliveryLimit {
  /** Open deliveries of the organizations that have as many as they may, or more. */
  private crowding: Readonly<Record<string, number>> = {};
  private readonly count: BriefCache<void>;
  private readonly refusals: Counter;

  constructor(
    private readonly measures: QueueMeasures,
    private readonly config: AppConfig,
    clock: Clock,
    metrics: Metrics,
  ) {
    this.count = new BriefCache(() => this.read(), CACHE_MS, clock);
    const help = 'Submissions refused as their organization has as many open deliveries as it may';
    this.refusals = metrics.counter({ name: 'open_delivery_limit_refusals_total', help });
  }

  /** @throws AppError sending_limit_exceeded */
  async assertRoom(organizationId: string): Promise<void> {
    if (this.config.limits.openDeliveries === 0) return;
    const counted = this.count.get();
    // Only who would be refused waits, for a count that is not old.
    if (!(organizationId in this.crowding)) return;
    await counted;
    const used = this.crowding[organizationId];
    if (used === undefined) return;
    this.refusals.inc();
    throw limitReached(this.config.limits.openDeliveries, used);
  }

  /** Without a database, what was known is; the send itself then fails. */
  private async read(): Promise<void> {
    try {
      this.crowding = (await acrossTenants(() => this.measures.last())).crowding;
    } catch {
      // The next send tries again.
    }
  }
}

function limitReached(limit: number, used: number): AppError {
  return new AppError('sending_limit_exceeded', `The organization may have ${limit} deliveries that have not ended`, {
    details: { limit, used, reason: 'open_deliveries' },
    retryAfterSeconds: RETRY_AFTER_SECONDS,
    suggestion:
      'Wait until some of the mail is delivered, cancel what need not be sent, or ask the operator of this service',
  });
}
