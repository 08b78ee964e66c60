import { Injectable } from '@nestjs/common';
import { Database } from '../../database/database.service';
import type { Transaction } from '../../database/transaction';
import type { WebhookEndpoint } from './webhook-endpoint.entity';
import { nextReplays, type OpenReplay } from './sql/replays.sql';
import { WebhookReplay } from './webhook-replay.entity';

@Injectable()
export class WebhookReplaysRepository {
  constructor(private readonly database: Database) {}

  exists({ organizationId, mode, id }: WebhookEndpoint, tx: Transaction): Promise<boolean> {
    return tx.manager.existsBy(WebhookReplay, { organizationId, mode, endpointId: id });
  }

  async insert(replay: WebhookReplay, tx: Transaction): Promise<void> {
    await tx.manager.insert(WebhookReplay, replay);
  }

  /**
   * One for each of the next organizations after an id: the one that has waited longest, of an endpoint that has fewer than
   * `maxPending` messages to be sent.
   */
  next(maxPending: number, after: string, limit: number): Promise<OpenReplay[]> {
    return this.database.run(nextReplays(maxPending, after, limit));
  }

  /**
   * Moves a replay on from where it was read, and holds it until the end of the transaction. False when another process
   * has done so, or its endpoint is gone.
   */
  async advance(replay: OpenReplay, position: string, now: Date, tx: Transaction): Promise<boolean> {
    const { affected } = await tx.manager.update(WebhookReplay, asRead(replay), { position, updatedAt: now });
    return affected === 1;
  }

  /** The same for its last step: the replay is over. */
  async finish(replay: OpenReplay, tx: Transaction): Promise<boolean> {
    return (await tx.manager.delete(WebhookReplay, asRead(replay))).affected === 1;
  }
}

function asRead({ organizationId, mode, id, position, endBefore }: OpenReplay) {
  return { organizationId, mode, endpointId: id, position, endBefore };
}
