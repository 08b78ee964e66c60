import { Injectable } from '@nestjs/common';
import { HealthIndicatorService } from '@nestjs/terminus';
import { BriefCache, within } from '../../common/async/promises';
import { Clock, MINUTE, SECOND } from '../../common/clock';
import { DeliveryQueueRepository } from '../../delivery/queue/delivery-queue.repository';
import { databaseFault } from './database-fault';
import type { QueueHealth } from './health-report';

const TIMEOUT_MS = 2 * SECOND;
/** A storm of questions costs one statement in this time. */
const CACHE_MS = 2 * SECOND;
/** A destination that holds mail back makes some of it old; this old, somebody should look. */
const LATE_SECONDS = (15 * MINUTE) / SECOND;

/** `queue`: up, degraded when no worker is alive or mail is late, down when it could not be measured. */
@Injectable()
export class QueueHealthIndicator {
  private readonly measure;

  constructor(
    private readonly indicators: HealthIndicatorService,
    queue: DeliveryQueueRepository,
    clock: Clock,
  ) {
    this.measure = new BriefCache(() => queue.measure(), CACHE_MS, clock);
  }

  async check() {
    const session = this.indicators.check('queue');
    try {
      const { ready, waiting, claimed, oldestReadySeconds, workers } = await within(this.measure.get(), TIMEOUT_MS);
      const oldestSeconds = Math.max(0, Math.round(oldestReadySeconds));
      const depth = ready + waiting + claimed;
      const health: QueueHealth = { healthy: true, depth, oldestSeconds, ready, waiting, claimed };
      const late = workers === 0 || oldestSeconds > LATE_SECONDS;
      return late ? session.degraded({ health, workers }) : session.up({ health, workers });
    } catch (error) {
      const health: QueueHealth = { healthy: false, error: databaseFault(error) };
      return session.down({ health, workers: undefined });
    }
  }
}
