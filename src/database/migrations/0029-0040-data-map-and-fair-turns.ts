// Old code still runs against it, and claims more slowly while queues are deep. The indexes are built while writes to the
// queue wait: a second for a million open deliveries.
import { commentOn } from './data-map/comment-on';
import { ForwardOnlyMigration } from './forward-only';

/** Owners: auth (organizations), delivery. */
export class FairTurns1700000000034 extends ForwardOnlyMigration {
  readonly name = 'FairTurns1700000000034';

  protected readonly sql = `
    -- An organization's share of the deliveries among those with ready mail.
    alter table organizations add column weight integer not null default 1 check (weight between 1 and 100);
    create index organizations_weighted on organizations (id) where weight <> 1;
    ${commentOn('organizations', 'as long as the organization', { weight: 'none: its share of the deliveries' })}

    -- With the category: transactional mail goes before bulk.
    drop index deliveries_ready;
    create index deliveries_ready on deliveries (organization_id, destination, category, due_at, email_id, position)
      where state = 'ready';
    -- What outlives its time without a turn is found by when it began and by when it is to end.
    create index deliveries_first_due on deliveries (first_due_at) where state in ('waiting', 'ready');
    create index deliveries_expiring on deliveries (expires_at)
      where state in ('waiting', 'ready') and expires_at is not null;
  `;
}
