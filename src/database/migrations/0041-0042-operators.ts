import { commentOn, OWNER } from './data-map/comment-on';
import { ForwardOnlyMigration } from './forward-only';

// Old code still runs against it: it adds tables, columns that it leaves empty, and a state that it never writes.
/** Owners: auth (operator_keys, organizations), audit, delivery, emails (monthly_usage), stats (sending_rates). */
export class Operators1700000000041 extends ForwardOnlyMigration {
  readonly name = 'Operators1700000000041';

  protected readonly sql = `
    create table operator_keys (
      id uuid primary key,
      name text not null,
      scopes text[] not null,
      prefix text not null,
      -- SHA-256 of the key; the key itself is never stored.
      hash bytea not null unique,
      expires_at timestamptz,
      last_used_at timestamptz,
      revoked_at timestamptz,
      created_at timestamptz not null
    );
    ${commentOn('operator_keys', 'as long as the installation', {
      id: 'none: names the key, in the audit log too',
      name: 'text: what the operator calls it',
      scopes: 'none: what it may do',
      prefix: 'none: its first characters, to tell keys apart',
      hash: 'none: SHA-256 of the key, to recognise it',
      expires_at: 'none: when it ends',
      last_used_at: 'none: shows keys that nobody uses',
      revoked_at: 'none: when it was ended',
      created_at: 'none: when it was made',
    })}

    alter table organizations add column monthly_recipients integer check (monthly_recipients >= 0);
    ${commentOn('organizations', 'as long as the organization', {
      monthly_recipients: 'none: how many recipients it may have in a month; empty without a limit',
    })}

    -- Recipients of live mail in a month (UTC), of organizations that are limited; counted anew from the statistics now and then.
    create table monthly_usage (
      organization_id uuid not null,
      month date not null,
      recipients bigint not null,
      counted_at timestamptz not null,
      primary key (organization_id, month)
    ) with (fillfactor = 70);
    ${commentOn('monthly_usage', 'two months', {
      organization_id: OWNER.organization_id,
      month: 'none: its first day',
      recipients: 'none: accepted recipients of live mail',
      counted_at: 'none: when they were counted anew',
    })}

    -- What the fold of the statistics has seen within the last minutes, a row for each: appended only.
    create table sending_rates (
      id bigint generated always as identity primary key,
      at timestamptz not null default now(),
      accepted integer not null,
      delivered integer not null,
      deferred integer not null,
      bounced integer not null
    );
    create index sending_rates_at on sending_rates (at);
    ${commentOn('sending_rates', 'an hour', {
      id: 'none: its number',
      at: 'none: when it was counted',
      accepted: 'none: recipients of live mail of all organizations',
      delivered: 'none: the same',
      deferred: 'none: the same',
      bounced: 'none: the same',
    })}

    alter table worker_sessions add column version text;
    ${commentOn('worker_sessions', 'minutes after the process has ended', { version: 'none: the release that it runs' })}

    -- held: an operator has put it aside; no worker claims it, and its life goes on. What is there satisfies it, as it satisfied
    -- the narrower one.
    alter table deliveries drop constraint deliveries_state_check;
    alter table deliveries add constraint deliveries_state_check
      check (state in ('waiting', 'ready', 'claimed', 'held')) not valid;
    alter table queue_measures add column held integer not null default 0;
    ${commentOn('queue_measures', 'until the next count', { held: 'none: how many deliveries an operator has put aside' })}
  `;
}

// Old code still runs against it: it only adds a table, and works no action off.
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
