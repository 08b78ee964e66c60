// Old code still runs against it: it only adds a table.
import { commentOn } from './data-map/comment-on';
import { ForwardOnlyMigration } from './forward-only';

/** Owner: delivery. */
export class QueueMeasures1700000000036 extends ForwardOnlyMigration {
  readonly name = 'QueueMeasures1700000000036';

  protected readonly sql = `
    -- One row: the last count of the queue, shared by all processes.
    create table queue_measures (
      id smallint primary key check (id = 1),
      ready integer not null,
      waiting integer not null,
      claimed integer not null,
      oldest_ready_at timestamptz,
      measured_at timestamptz not null,
      -- How long the count took: a large queue is counted less often.
      took interval not null,
      -- When a process began to count.
      begun_at timestamptz not null
    );
    insert into queue_measures values (1, 0, 0, 0, null, '-infinity', '0', '-infinity');
    ${commentOn('queue_measures', 'until the next count', {
      id: 'none: the one row',
      ready: 'none: deliveries that can start',
      waiting: 'none: deliveries for later',
      claimed: 'none: deliveries under way',
      oldest_ready_at: 'none: when the oldest that can start was due',
      measured_at: 'none: when it was counted',
      took: 'none: how long counting took',
      begun_at: 'none: when counting began',
    })}
  `;
}
