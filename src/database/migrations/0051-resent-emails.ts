// Old code still runs against it: it adds columns that may be empty, which rewrites nothing.
import { commentOn } from './data-map/comment-on';
import { ForwardOnlyMigration } from './forward-only';

/** Owner: emails. */
export class ResentEmails1700000000051 extends ForwardOnlyMigration {
  readonly name = 'ResentEmails1700000000051';

  protected readonly sql = `
    alter table emails add column resent_from uuid, add column resent_as uuid[];
    ${commentOn('emails', 'RETENTION_EMAILS_MONTHS', {
      resent_from: 'none: the email that this one repeats',
      resent_as: 'none: the emails that repeat this one',
    })}
  `;
}
