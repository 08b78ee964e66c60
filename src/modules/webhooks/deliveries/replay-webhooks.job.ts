import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { Clock, SECOND } from '../../../common/clock';
import { OrganizationRing } from '../../../common/jobs/organization-ring';
import { PeriodicJobs } from '../../../common/jobs/periodic-jobs';
import { Database } from '../../../database/pool/database.service';
import { EventsService } from '../../events/events.service';
import { type OpenReplay, WebhookReplaysRepository } from '../queue/webhook-endpoints.repository';
import { WebhookMessagesRepository } from '../queue/webhook-messages.repository';
import { isSubscribed } from '../queue/webhook-queue';

/** Events of one step of a replay. */
const STEP = 500;
/** An endpoint with more waiting messages is skipped: new events must not wait behind a month of old ones. */
const BUSY_FROM_PENDING = 5_000;
/** Of one run of the job. */
const MAX_STEPS = 100;
/** Organizations that are read at a time. */
const AT_ONCE = 20;

/**
 * Turns the events of replays into messages, a page at a time in turn among organizations. A step reads without
 * a lock and is written only if the replay still stands where it was read, so that any number of processes can run it.
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
      const turns = await this.turns.next((after) => this.replays.next(BUSY_FROM_PENDING, after, limit));
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
