// Old code still runs against it: it only adds columns, which old workers leave as they were when their session began.
import { commentOn } from './data-map/comment-on';
import { ForwardOnlyMigration } from './forward-only';

/** Owner: delivery. */
export class WatchedSessions1700000000040 extends ForwardOnlyMigration {
  readonly name = 'WatchedSessions1700000000040';

  // The table has a row for each worker.
  protected readonly sql = `
    alter table worker_sessions
      add column renewed_at timestamptz not null default now(),
      add column watched_since timestamptz not null default now();
    ${commentOn('worker_sessions', 'minutes after the process has ended', {
      renewed_at: 'none: when it was last known to live',
      watched_since: 'none: since when the database has answered one worker or another',
    })}
  `;
}
