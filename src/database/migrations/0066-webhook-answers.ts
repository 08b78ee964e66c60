// Old code still runs against it: it only adds a column, which old processes leave empty.
import { commentOn } from './data-map/comment-on';
import { ForwardOnlyMigration } from './forward-only';

/** Owner: webhooks. */
export class WebhookAnswers1700000000066 extends ForwardOnlyMigration {
  readonly name = 'WebhookAnswers1700000000066';

  // Without a default the table is not rewritten. At most some 4 KB, most of it out of line.
  protected readonly sql = `
    alter table webhook_messages add column last_answer jsonb;
    ${commentOn('webhook_messages', 'RETENTION_WEBHOOKS_DAYS', {
      last_answer:
        "text: the beginning of what the customer's server answered; addresses of emails in it are masked before it is stored",
    })}
  `;
}
