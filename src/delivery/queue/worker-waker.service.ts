import { Injectable, Logger } from '@nestjs/common';
import { DeliveryQueueRepository } from './delivery-queue.repository';
import type { WorkCall } from './work-call';

/** The notification channel; `notify-workers` names it too. */
export const WORK_CHANNEL = 'waybill_work';

/** Not more often than this, however many commits there are. */
const PAUSE_MS = 20;

type Work = Omit<WorkCall, 'turn'>;

/**
 * Notifies workers of new work. One notification covers all commits of the pause that follows it; workers also check
 * by themselves every second, so a lost one costs time, never mail.
 */
@Injectable()
export class WorkerWaker {
  private readonly logger = new Logger(WorkerWaker.name);
  private isPausing = false;
  private next: Work | undefined;

  constructor(private readonly queue: DeliveryQueueRepository) {}

  wake(work: Work): void {
    if (work.count === 0) return;
    this.next = this.next ? both(this.next, work) : work;
    this.notify();
  }

  private notify(): void {
    if (this.isPausing || !this.next) return;
    this.isPausing = true;
    this.queue
      .notify(this.next)
      .catch((error: unknown) => this.logger.debug(`Workers not notified: ${(error as Error).message}`));
    this.next = undefined;
    setTimeout(() => this.endPause(), PAUSE_MS).unref();
  }

  private endPause(): void {
    this.isPausing = false;
    this.notify();
  }
}

function both(one: Work, other: Work): Work {
  const [some, more] = [one.organizationIds, other.organizationIds];
  return { count: one.count + other.count, organizationIds: some && more && new Set([...some, ...more]) };
}
