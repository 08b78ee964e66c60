// Old code still runs against it: it only adds a table.
import { commentOn } from './data-map/comment-on';
import { ForwardOnlyMigration } from './forward-only';

/** Owner: delivery. */
export class EgressSuspensions1700000000054 extends ForwardOnlyMigration {
  readonly name = 'EgressSuspensions1700000000054';

  protected readonly sql = `
    create table egress_suspensions (
      address text not null,
      key text not null,
      cause text not null,
      until timestamptz not null,
      created_at timestamptz not null default now(),
      primary key (address, key)
    );
    ${commentOn('egress_suspensions', 'a day after its end', {
      address: 'none: one of our own addresses',
      key: 'none: the receivers that refuse it',
      cause: 'text: what the receiving side said',
      until: 'none: when it is tried again',
      created_at: 'none: when it was refused first',
    })}
  `;
}
