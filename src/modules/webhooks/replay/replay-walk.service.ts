import { Injectable } from '@nestjs/common';
import { Clock } from '../../../common/clock';
import { Database } from '../../../database/database.service';
import { EventsService } from '../../events/events.service';
import { WebhookDeliveriesRepository } from '../webhook-deliveries.repository';
import { isSubscribed } from '../webhook-subscription';
import type { OpenReplay } from './sql/next-replay.sql';
import { WebhookReplaysRepository } from './webhook-replays.repository';

/** Events of one step. */
const STEP = 500;
/** An endpoint with more to be sent waits: what happens now shall not stand behind a month of the past. */
const MAX_PENDING = 5_000;
/** Of one run of the job. */
const MAX_STEPS = 100;

/**
 * Turns the events of replays into messages, a few at a time. A step reads without a lock and is written only if the
 * replay still stands where it was read, so that any number of processes can walk.
 */
@Injectable()
export class ReplayWalk {
  constructor(
    private readonly replays: WebhookReplaysRepository,
    private readonly deliveries: WebhookDeliveriesRepository,
    private readonly feed: EventsService,
    private readonly database: Database,
    private readonly clock: Clock,
  ) {}

  /** Goes on as long as there is something to do, within bounds. @throws UnavailableError */
  async run(): Promise<void> {
    for (let step = 0; step < MAX_STEPS; step += 1) {
      const replay = await this.replays.next(MAX_PENDING);
      if (!replay) return;
      await this.step(replay);
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
      const wanted = events.filter((event) => isSubscribed(replay, event));
      await this.deliveries.renew(replay, wanted, now, tx);
    });
  }
}
