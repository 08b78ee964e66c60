// Old code still runs against it: it only says more of columns.
import { commentOn } from './data-map/comment-on';
import { ForwardOnlyMigration } from './forward-only';

/** Owner: emails, templates, privacy. */
export class WordsOfTenants1700000000091 extends ForwardOnlyMigration {
  readonly name = 'WordsOfTenants1700000000091';

  // Of columns that hold what customers have written, and were said to hold nothing of people.
  protected readonly sql = `
    ${commentOn('templates', 'until it is deleted', { name: 'text: the customer’s own name for it' })}
    ${commentOn('template_versions', 'until the template is deleted, or 200 versions later', {
      subject: 'text: what all mails made from it say',
      html: 'text: what all mails made from it say',
      text: 'text: what all mails made from it say',
    })}
    ${commentOn('email_attachments', 'RETENTION_CONTENTS_DAYS after the end of the delivery', {
      content_type: 'content: sent',
      content_id: 'content: lets the html refer to it',
    })}
    ${commentOn('privacy_requests', 'until the request ends', {
      progress: 'text: where to go on, such as an idempotency key',
    })}
  `;
}
