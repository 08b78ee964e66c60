// Old code still runs against it: it only changes comments.
import { commentOn } from './data-map/comment-on';
import { ForwardOnlyMigration } from './forward-only';

/** Owner: delivery. */
export class RuledDestinations1700000000084 extends ForwardOnlyMigration {
  readonly name = 'RuledDestinations1700000000084';

  protected readonly sql = commentOn(
    'destination_reports',
    'an hour; the newest of a group for as long as a rule is about it',
    {
      key: 'none: the first mail exchanger of the group',
      session_id: 'none: the worker',
      active: 'none: conversations under way',
      concurrency: 'none: conversations that it allows itself',
      pauses: 'none: pauses in a row',
      paused_until: 'none: when the pause ends',
      changed_at: 'none: when it last paused, opened or slowed it',
      mx_hosts: 'none: the mail exchangers of the group',
      domains: 'none: domains of recipients, some of them',
      delivered: 'none: how many were taken',
      deferred: 'none: how many are to be tried again',
      bounced: 'none: how many were refused',
      reported_at: 'none: when the worker told it',
    },
  );
}
