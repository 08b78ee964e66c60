// Old code still runs against it. The index is built while writes to webhook messages wait: a second for a million messages
// of the last 30 days.
import { ForwardOnlyMigration } from './forward-only';

/** Owner: webhooks. */
export class WebhooksDue1700000000039 extends ForwardOnlyMigration {
  readonly name = 'WebhooksDue1700000000039';

  protected readonly sql = `
    -- With the id: what became due in one moment, thousands after a replay, is not sorted again by every claim.
    drop index webhook_messages_due;
    create index webhook_messages_due on webhook_messages (organization_id, mode, endpoint_id, next_attempt_at, id)
      where state = 'pending';
  `;
}
