// Old code still runs against it: it adds tables, columns that it leaves empty, and a state that it never writes.
import { commentOn, OWNER } from './data-map/comment-on';
import { ForwardOnlyMigration } from './forward-only';

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
