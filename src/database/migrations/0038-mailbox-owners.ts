// Old code still runs against it: it only adds a column that may be null.
import { commentOn } from './data-map/comment-on';
import { ForwardOnlyMigration } from './forward-only';

/** Owner: mailbox. */
export class MailboxOwners1700000000038 extends ForwardOnlyMigration {
  readonly name = 'MailboxOwners1700000000038';

  protected readonly sql = `
    -- Whose mail it is, so that an erasure of one organization leaves the copies of others.
    alter table mailbox_messages add column organization_id uuid;
    ${commentOn('mailbox_messages', 'local mode only: the newest 1,000', {
      organization_id: 'none: whose mail it is; nobody of ours when there is none',
    })}
  `;
}
