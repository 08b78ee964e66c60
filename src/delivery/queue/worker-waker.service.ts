import { Injectable, Logger } from '@nestjs/common';
import { DeliveryQueueRepository } from './delivery-queue.repository';

/** The notification channel; `notify-workers` names it too. */
export const WORK_CHANNEL = 'waybill_work';

/** Not more often than this, however many commits there are. */
const PAUSE_MS = 20;

/**
 * Notifies workers of new work. One notification covers all commits of the pause that follows it; workers also check
 * by themselves every second, so a lost one costs time, never mail.
 */
@Injectable()
export class WorkerWaker {
  private readonly logger = new Logger(WorkerWaker.name);
  private state: 'idle' | 'pausing' | 'again' = 'idle';

  constructor(private readonly queue: DeliveryQueueRepository) {}

  wake(): void {
    if (this.state !== 'idle') {
      this.state = 'again';
      return;
    }
    this.state = 'pausing';
    this.queue
      .notify()
      .catch((error: unknown) => this.logger.debug(`Workers not notified: ${(error as Error).message}`));
    setTimeout(() => this.endPause(), PAUSE_MS).unref();
  }

  private endPause(): void {
    const again = this.state === 'again';
    this.state = 'idle';
    if (again) this.wake();
  }
}
