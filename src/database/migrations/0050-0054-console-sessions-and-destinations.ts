import { commentOn } from './data-map/comment-on';
import { ForwardOnlyMigration } from './forward-only';

// Old code still runs against it: it only adds a column, which old workers leave empty.
/** Owner: emails. */
export class AttemptTraces1700000000050 extends ForwardOnlyMigration {
  readonly name = 'AttemptTraces1700000000050';

  // A column of the event instead of a table: no second row, no second index, and removed with the event.
  protected readonly sql = `
    alter table email_events add column trace jsonb;
    ${commentOn('email_events', 'RETENTION_EMAILS_MONTHS', {
      trace: 'none: of an attempt its times, the receiving host, TLS, and what the reply called for',
    })}
  `;
}

// Old code still runs against it: it adds columns that may be empty, which rewrites nothing.
/** Owner: emails. */
export class ResentEmails1700000000051 extends ForwardOnlyMigration {
  readonly name = 'ResentEmails1700000000051';

  protected readonly sql = `
    alter table emails add column resent_from uuid, add column resent_as uuid[];
    ${commentOn('emails', 'RETENTION_EMAILS_MONTHS', {
      resent_from: 'none: the email that this one repeats',
      resent_as: 'none: the emails that repeat this one',
    })}
  `;
}

// Old code still runs against it: it only adds tables.
/** Owner: auth. Both are looked up by what the browser shows, before anybody knows the tenant: hence their primary keys. */
export class ConsoleSessions1700000000052 extends ForwardOnlyMigration {
  readonly name = 'ConsoleSessions1700000000052';

  protected readonly sql = `
    create table console_sessions (
      hash bytea primary key,
      organization_id uuid not null,
      key_id uuid not null,
      created_at timestamptz not null,
      expires_at timestamptz not null
    );
    create index console_sessions_key on console_sessions (organization_id, key_id, created_at);
    create index console_sessions_expiry on console_sessions (expires_at);

    create table console_links (
      hash bytea primary key,
      organization_id uuid not null,
      mode text,
      expires_at timestamptz not null
    );
    ${commentOn('console_sessions', '12 hours, or until the sign-out', {
      hash: 'hash: SHA-256 of the session id in the cookie',
      organization_id: 'none: the tenant; all zeros for an operator',
      key_id: 'none: the key that it was opened with, and ends with',
      created_at: 'none: when somebody signed in',
      expires_at: 'none: when it ends by itself',
    })}
    ${commentOn('console_links', '15 minutes, or until it is used', {
      hash: 'hash: SHA-256 of the token in the link',
      organization_id: 'none: the tenant; all zeros for an operator',
      mode: 'none: live or test',
      expires_at: 'none: until when it works',
    })}
  `;
}

// Old code still runs against it: it only adds tables. Workers of the release before neither heed rules nor tell of what they meet.
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

// Old code still runs against it: it only adds a table.
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
