// Old code still runs against it: it only adds tables. Workers of the release before neither heed rules nor tell of what they meet.
import { commentOn } from './data-map/comment-on';
import { ForwardOnlyMigration } from './forward-only';

/** Owner: delivery. */
export class Destinations1700000000053 extends ForwardOnlyMigration {
  readonly name = 'Destinations1700000000053';

  protected readonly sql = `
    -- What a worker has met at a group of destinations: a row for each worker and group, so that no two wait for one.
    create table destination_reports (
      key text not null,
      session_id uuid not null,
      active integer not null,
      concurrency integer not null,
      pauses integer not null,
      paused_until timestamptz,
      cause text,
      -- When the worker last paused, opened or slowed it by itself; empty when it never did.
      changed_at timestamptz,
      last_response text,
      mx_hosts text[] not null,
      domains text[] not null,
      -- Of the last hour, as far as this worker knows.
      delivered integer not null,
      deferred integer not null,
      bounced integer not null,
      reported_at timestamptz not null default now(),
      primary key (key, session_id)
    ) with (fillfactor = 70);
    create index destination_reports_changed on destination_reports (changed_at);
    create index destination_reports_reported on destination_reports (reported_at);
    ${commentOn('destination_reports', 'an hour', {
      key: 'none: the first mail exchanger of the group',
      session_id: 'none: the worker',
      active: 'none: conversations under way',
      concurrency: 'none: conversations that it allows itself',
      pauses: 'none: pauses in a row',
      paused_until: 'none: when the pause ends',
      cause: 'text: what the receiving side said',
      changed_at: 'none: when it last paused, opened or slowed it',
      last_response: 'text: what the receiving side said last',
      mx_hosts: 'none: the mail exchangers of the group',
      domains: 'none: domains of recipients, some of them',
      delivered: 'none: how many were taken',
      deferred: 'none: how many are to be tried again',
      bounced: 'none: how many were refused',
      reported_at: 'none: when the worker told it',
    })}

    create table destination_rules (
      id uuid primary key,
      key text not null,
      source text not null check (source in ('reply', 'operator')),
      effect text not null check (effect in ('paused', 'resumed', 'max_connections', 'rate_per_minute')),
      value integer,
      cause text not null,
      until timestamptz,
      created_at timestamptz not null default now()
    );
    create unique index destination_rules_effect on destination_rules (key, source, effect);
    ${commentOn('destination_rules', 'until it ends or is removed', {
      id: 'none: names it',
      key: 'none: the group that it is for',
      source: 'none: learned of a reply, or made by an operator',
      effect: 'none: what it does',
      value: 'none: how many',
      cause: "text: the reply, or the operator's own words",
      until: 'none: when it ends',
      created_at: 'none: when it was made',
    })}
  `;
}
