import { Injectable, Logger, type OnApplicationBootstrap } from '@nestjs/common';
import { Clock, DAY, MINUTE, SECOND } from '../../common/clock';
import { OrganizationRing } from '../../common/jobs/organization-ring';
import { deleteInBatches, PeriodicJobs } from '../../common/jobs/periodic-jobs';
import { AppConfig } from '../../config/config';
import { Database } from '../../database/database.service';
import { EventsService } from '../events/events.service';
import { ENDPOINT_DISABLED } from './evaluate-attempt';
import type { OpenReplay } from './sql/replays.sql';
import { CLAIM_MS } from './webhook-dispatcher.service';
import { WebhookEndpointsRepository, WebhookReplaysRepository } from './webhook-endpoints.repository';
import { WebhookMessagesRepository } from './webhook-messages.repository';
import { isSubscribed } from './webhook-queue';

/** Events of one step of a replay. */
const STEP = 500;
/** An endpoint with more waiting messages is skipped: new events must not wait behind a month of old ones. */
const MAX_PENDING = 5_000;
/** Of one run of the job. */
const MAX_STEPS = 100;
/** Organizations that are read at a time. */
const AT_ONCE = 20;

/**
 * Turns the events of replays into messages, a page at a time in turn among organizations. A step reads without a lock and is written only if the
 * replay still stands where it was read, so that any number of processes can run it.
 */
@Injectable()
export class ReplayWebhooksJob implements OnApplicationBootstrap {
  private readonly turns = new OrganizationRing();

  constructor(
    private readonly replays: WebhookReplaysRepository,
    private readonly messages: WebhookMessagesRepository,
    private readonly feed: EventsService,
    private readonly database: Database,
    private readonly jobs: PeriodicJobs,
    private readonly clock: Clock,
  ) {}

  onApplicationBootstrap(): void {
    this.jobs.start({
      name: 'replay-webhooks',
      everyMs: 2 * SECOND,
      hasWork: this.replays.hasAny,
      run: () => this.run(),
    });
  }

  /** Goes on as long as there is something to do, within bounds: a step for each organization in turn. @throws UnavailableError */
  async run(): Promise<void> {
    for (let steps = 0; steps < MAX_STEPS && !this.jobs.ending.aborted;) {
      const limit = Math.min(AT_ONCE, MAX_STEPS - steps);
      const turns = await this.turns.next((after) => this.replays.next(MAX_PENDING, after, limit));
      if (turns.length === 0) return;
      for (const replay of turns) {
        await this.jobs.attempt(`The replay of webhook ${replay.id}`, () => this.step(replay));
      }
      steps += turns.length;
    }
  }

  private async step(replay: OpenReplay): Promise<void> {
    const { organizationId, mode, position: after, endBefore } = replay;
    const [page = []] = await this.feed.readAfter([{ organizationId, mode, after }], STEP);
    const events = page.filter(({ id }) => id < endBefore);
    const last = events.length === STEP ? events.at(-1) : undefined;
    const now = this.clock.now();
    await this.database.transaction(async (tx) => {
      const isOurs = await (last ? this.replays.advance(replay, last.id, now, tx) : this.replays.finish(replay, tx));
      if (!isOurs) return;
      const subscribed = events.filter((event) => isSubscribed(replay, event, replay.id));
      await this.messages.renew(replay, subscribed, now, tx);
    });
  }
}

/** Rows of one deletion. */
const CLEAN_UP_BATCH = 2_000;

/** Removes old messages, those of removed endpoints, and secrets that are no longer valid. */
@Injectable()
export class CleanUpWebhooksJob implements OnApplicationBootstrap {
  constructor(
    private readonly endpoints: WebhookEndpointsRepository,
    private readonly messages: WebhookMessagesRepository,
    private readonly jobs: PeriodicJobs,
    private readonly clock: Clock,
    private readonly config: AppConfig,
  ) {}

  onApplicationBootstrap(): void {
    this.jobs.startRemoval({
      name: 'clean-up-webhooks',
      everyMs: 5 * MINUTE,
      run: () => this.cleanUp(),
    });
  }

  /** Returns how many messages were too old, counted from when they were created or renewed. */
  async cleanUp(): Promise<number> {
    const now = this.clock.now();
    await this.endpoints.clearPreviousSecrets(now);
    while (await this.endpoints.clearRemoved(CLEAN_UP_BATCH));
    const before = new Date(now.getTime() - this.config.retention.webhookDays * DAY);
    return deleteInBatches(CLEAN_UP_BATCH, (limit) => this.messages.deleteBefore(before, limit));
  }
}

const SWEEP_EVERY_MS = 5 * SECOND;
const SWEEP_BATCH = 1_000;

/** Frees the messages of ended processes, and ends those that wait for disabled endpoints. */
@Injectable()
export class SweepMessagesJob implements OnApplicationBootstrap {
  private readonly logger = new Logger(SweepMessagesJob.name);

  constructor(
    private readonly messages: WebhookMessagesRepository,
    private readonly jobs: PeriodicJobs,
    private readonly clock: Clock,
  ) {}

  onApplicationBootstrap(): void {
    this.jobs.start({ name: 'free-webhook-claims', everyMs: SWEEP_EVERY_MS, run: () => this.freeOrphanedClaims() });
    this.jobs.start({ name: 'end-disabled-webhooks', everyMs: SWEEP_EVERY_MS, run: () => this.endOfDisabled() });
  }

  /** A batch at a time: a recovery must not overload the endpoints. */
  async freeOrphanedClaims(): Promise<void> {
    const now = this.clock.now();
    const latest = new Date(now.getTime() + CLAIM_MS);
    const freed = await this.messages.freeOrphanedClaims(now, latest, SWEEP_BATCH);
    if (freed > 0) this.logger.warn(`${freed} webhooks of lost workers are sent again`);
  }

  async endOfDisabled(): Promise<void> {
    while (
      !this.jobs.ending.aborted &&
      (await this.messages.endOfDisabled(ENDPOINT_DISABLED, SWEEP_BATCH)) === SWEEP_BATCH
    );
  }
}
