// Old code still runs against it: it only adds tables.
import { ForwardOnlyMigration } from './forward-only';

/** Owner: delivery. */
export class DeliveryQueue1700000000005 extends ForwardOnlyMigration {
  readonly name = 'DeliveryQueue1700000000005';

  protected readonly sql = `
    create table worker_sessions (
      id uuid primary key,
      host text not null,
      process_id integer not null,
      started_at timestamptz not null default now(),
      lease_until timestamptz not null
    );

    -- Open work only: a row leaves when its delivery is terminal.
    create table deliveries (
      organization_id uuid not null,
      mode text not null,
      email_id uuid not null,
      position smallint not null,
      domain_id uuid not null,
      recipient text not null,
      destination text not null,
      category text not null,
      -- waiting: due in the future; ready: due; claimed: owned by session_id until its lease ends.
      state text not null check (state in ('waiting', 'ready', 'claimed')),
      due_at timestamptz not null,
      first_due_at timestamptz not null,
      expires_at timestamptz,
      attempt integer not null default 0,
      -- Attempts that ended with the worker's death: three of them and the delivery counts as poison.
      crashes integer not null default 0,
      claim_token integer not null default 0,
      session_id uuid,
      claimed_at timestamptz,
      primary key (organization_id, mode, email_id, position)
    ) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);
    create index deliveries_ready on deliveries (organization_id, destination, due_at, email_id, position)
      where state = 'ready';
    create index deliveries_waiting on deliveries (due_at) where state = 'waiting';
    create index deliveries_claimed on deliveries (session_id) where state = 'claimed';
  `;
}
