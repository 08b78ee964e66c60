// Old code still runs against it: it adds a column with a default, which rewrites nothing. It would send a raw message as an
// empty one with an attachment, so accept raw messages once no worker of the release before is left.
import { commentOn } from './data-map/comment-on';
import { ForwardOnlyMigration } from './forward-only';

/** Owner: emails. */
export class RawMessages1700000000047 extends ForwardOnlyMigration {
  readonly name = 'RawMessages1700000000047';

  protected readonly sql = `
    -- The message itself lies in email_attachments, in parts of 1 MiB: a column of its own would double what has to be
    -- exported, erased and removed in time.
    alter table email_contents add column is_raw boolean not null default false;
    ${commentOn('email_contents', 'RETENTION_CONTENTS_DAYS after the end of the delivery', {
      is_raw: 'none: whether it came as a whole message',
    })}
  `;
}
