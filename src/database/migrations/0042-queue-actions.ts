// Old code still runs against it: it only adds a table, and works no action off.
import { commentOn } from './data-map/comment-on';
import { ForwardOnlyMigration } from './forward-only';

/** Owner: delivery. */
export class QueueActions1700000000042 extends ForwardOnlyMigration {
  readonly name = 'QueueActions1700000000042';

  protected readonly sql = `
    -- What operators do with open deliveries, worked off in batches along the queue's primary key.
    create table queue_actions (
      id uuid primary key,
      action text not null check (action in ('retry_now', 'hold', 'release', 'fail')),
      filter_organization_id uuid,
      filter_destination text,
      filter_email_id uuid,
      filter_recipient text,
      reason text not null,
      actor text not null,
      status text not null check (status in ('running', 'completed')),
      -- The last delivery that was looked at.
      at_organization_id uuid not null,
      at_mode text not null,
      at_email_id uuid not null,
      at_position smallint not null,
      matched integer not null default 0,
      changed integer not null default 0,
      claimed integer not null default 0,
      created_at timestamptz not null,
      completed_at timestamptz
    );
    create index queue_actions_running on queue_actions (id) where status = 'running';
    create index queue_actions_completed on queue_actions (completed_at) where status = 'completed';
    ${commentOn('queue_actions', '30 days', {
      id: 'none: names it',
      action: 'none: what is done',
      filter_organization_id: 'none: to which deliveries',
      filter_destination: 'none: to which deliveries',
      filter_email_id: 'none: to which deliveries',
      filter_recipient: 'address: to which deliveries; removed once it is completed',
      reason: "text: the operator's own words",
      actor: 'none: who does it',
      status: 'none: whether it is completed',
      at_organization_id: 'none: how far it has come',
      at_mode: 'none: how far it has come',
      at_email_id: 'none: how far it has come',
      at_position: 'none: how far it has come',
      matched: 'none: deliveries that it was for',
      changed: 'none: deliveries that it changed',
      claimed: 'none: deliveries that it left alone because a worker had them',
      created_at: 'none: when it was asked for',
      completed_at: 'none: when it was completed',
    })}
  `;
}
