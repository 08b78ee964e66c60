import { Injectable } from '@nestjs/common';
import { Clock, DAY } from '../../../common/clock';
import { AppError, type FieldErrors, ValidationError } from '../../../common/errors/app-error';
import { firstIdAt } from '../../../common/ids';
import { EventsService } from '../../events/events.service';
import { WebhookChanges } from '../webhook-changes.service';
import { requireEnabled } from '../webhook-deliveries.service';
import type { WebhookHolder } from '../webhook-endpoints.repository';
import { WebhookReplaysRepository } from './webhook-replays.repository';

/** When the events were written down, the beginning included. */
export interface ReplaySpan {
  readonly from: Date;
  /** Undefined: up to now. */
  readonly to?: Date;
}

const MAX_DAYS = 30;

/** Sends an endpoint the events of a span of time once more. */
@Injectable()
export class WebhookReplays {
  constructor(
    private readonly replays: WebhookReplaysRepository,
    private readonly changes: WebhookChanges,
    private readonly feed: EventsService,
    private readonly clock: Clock,
  ) {}

  /**
   * Notes what is to be done; a background job does it.
   * @throws NotFoundError, ValidationError, AppError webhook_disabled, webhook_replay_in_progress
   */
  async start(holder: WebhookHolder, id: string, { from, to }: ReplaySpan): Promise<void> {
    const now = this.clock.now();
    refuse(problemsOf(from, to ?? now));
    // What comes after this is heard anyway.
    const head = await this.feed.head();
    const endBefore = to && firstIdAt(to) < head ? firstIdAt(to) : head;
    const data = { from: from.toISOString(), ...(to && { to: to.toISOString() }) };
    await this.changes.change(holder, id, { action: 'webhook.replayed', data }, async (endpoint, tx) => {
      requireEnabled(endpoint);
      if (await this.replays.exists(endpoint, tx)) throw inProgress();
      const { organizationId, mode, id: endpointId } = endpoint;
      const replay = { organizationId, mode, endpointId, position: firstIdAt(from), endBefore, updatedAt: now };
      await this.replays.insert(replay, tx);
    });
  }
}

function problemsOf(from: Date, to: Date): FieldErrors {
  const spanMs = to.getTime() - from.getTime();
  if (spanMs <= 0) return { from: ['from must be before to, which is now by default'] };
  return spanMs > MAX_DAYS * DAY ? { from: [`from and to must be at most ${MAX_DAYS} days apart`] } : {};
}

function refuse(errors: FieldErrors): void {
  if (Object.keys(errors).length > 0) throw new ValidationError(errors);
}

function inProgress(): AppError {
  return new AppError('webhook_replay_in_progress', 'An earlier replay to this webhook is still running', {
    suggestion: 'Ask again when the deliveries of that one have been made',
  });
}
