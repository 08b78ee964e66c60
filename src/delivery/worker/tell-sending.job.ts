import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { Clock, SECOND } from '../../common/clock';
import { PeriodicJobs } from '../../common/jobs/periodic-jobs';
import type { ClaimedDelivery } from '../ports/delivery';
import { DeliveryPipeline } from './delivery-pipeline';
import { ResultCommit } from './settler';
import { WorkerSession } from './worker-session';

const EVERY_MS = SECOND;
/** Most attempts end sooner, and have one event. */
const LONG_MS = 2 * SECOND;
const BATCH = 200;

/** Records of first attempts that last that they have begun; of the others that is written with their result. */
@Injectable()
export class TellSendingJob implements OnApplicationBootstrap {
  /** When they were in hand first; with an event already: never. */
  private seenMs = new Map<ClaimedDelivery, number>();

  constructor(
    private readonly jobs: PeriodicJobs,
    private readonly pipeline: DeliveryPipeline,
    private readonly results: ResultCommit,
    private readonly session: WorkerSession,
    private readonly clock: Clock,
  ) {}

  onApplicationBootstrap(): void {
    this.jobs.start({ name: 'tell-sending', everyMs: EVERY_MS, run: () => this.tell() });
  }

  /** @throws UnavailableError */
  async tell(): Promise<void> {
    const late = this.findLate();
    for (let from = 0; from < late.length; from += BATCH) {
      const batch = late.slice(from, from + BATCH);
      await this.results.begin(batch);
      for (const claim of batch) this.seenMs.set(claim, Infinity);
    }
  }

  /** Those that have been here for so long and have no event yet. */
  private findLate(): ClaimedDelivery[] {
    const nowMs = this.clock.monotonicMs();
    const first = this.pipeline.claims().filter(({ attempt }) => attempt === 1);
    this.seenMs = new Map(first.map((claim) => [claim, this.seenMs.get(claim) ?? nowMs]));
    const late = first.filter((claim) => nowMs - (this.seenMs.get(claim) ?? nowMs) >= LONG_MS);
    return late.filter(({ sessionId }) => this.session.holds(sessionId));
  }
}
