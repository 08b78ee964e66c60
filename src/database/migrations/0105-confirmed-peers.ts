import { commentOn } from './data-map/comment-on';
import { ForwardOnlyMigration } from './forward-only';

// Old code still runs against it: it adds a nullable column, which an old worker leaves null; new workers then go by time, as it does.
/** Owner: delivery. Which other workers each has made room for, so that a new one waits for that and not for a time. */
export class ConfirmedPeers1700000000105 extends ForwardOnlyMigration {
  readonly name = 'ConfirmedPeers1700000000105';

  protected readonly sql = `
    alter table worker_sessions add column peers uuid[];
    ${commentOn('worker_sessions', 'minutes after the process has ended', {
      peers: 'none: the running processes that it knows of',
    })}
  `;
}
