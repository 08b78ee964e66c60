import { ForwardOnlyMigration } from './forward-only';

// Old code still runs against it: it only adds tables.
/** Owners: suppressions; stats. */
export class SuppressionsAndStats1700000000006 extends ForwardOnlyMigration {
  readonly name = 'SuppressionsAndStats1700000000006';

  protected readonly sql = `
    create table suppressions (
      organization_id uuid not null,
      mode text not null,
      -- The normal form of common/mail-address: what is matched.
      address_key text not null,
      reason text not null
        check (reason in ('hard_bounce', 'soft_bounce', 'spam_complaint', 'unsubscribe', 'manual', 'blocklist')),
      id uuid not null,
      email text not null,
      source text not null check (source in ('automatic', 'api')),
      notes text,
      suppressed_at timestamptz not null default now(),
      expires_at timestamptz,
      primary key (organization_id, mode, address_key, reason)
    );

    -- Counters by the hour in which something happened (UTC). Accept and settle only append to stats_deltas, so that no
    -- two commits wait for one counter row; a job folds the deltas into stats_hourly, and readers add both.
    create table stats_hourly (
      organization_id uuid not null,
      mode text not null,
      domain_id uuid not null,
      hour timestamptz not null,
      emails bigint not null default 0,
      accepted bigint not null default 0,
      sent bigint not null default 0,
      delivered bigint not null default 0,
      bounced bigint not null default 0,
      failed bigint not null default 0,
      deferred bigint not null default 0,
      complaints bigint not null default 0,
      unsubscribes bigint not null default 0,
      opens bigint not null default 0,
      clicks bigint not null default 0,
      primary key (organization_id, mode, domain_id, hour)
    );

    create table stats_deltas (
      id bigint generated always as identity primary key,
      organization_id uuid not null,
      mode text not null,
      domain_id uuid not null,
      hour timestamptz not null,
      emails integer not null default 0,
      accepted integer not null default 0,
      sent integer not null default 0,
      delivered integer not null default 0,
      bounced integer not null default 0,
      failed integer not null default 0,
      deferred integer not null default 0,
      complaints integer not null default 0,
      unsubscribes integer not null default 0,
      opens integer not null default 0,
      clicks integer not null default 0
    ) with (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 0);
    create index stats_deltas_organization on stats_deltas (organization_id, mode, domain_id, hour);

    -- Test mode: recipients per sender domain, by day and in all (day 'epoch' holds the lifetime).
    create table test_usage (
      organization_id uuid not null,
      domain_id uuid not null,
      day date not null,
      recipients integer not null,
      primary key (organization_id, domain_id, day)
    );
  `;
}

// Old code still runs against it: it only adds a table.
/**
 * Owner: throttling. Unlogged: the counters of the current windows may be lost with a crash of the database, and writing
 * them to the log would cost more than they are worth.
 */
export class ThrottleHits1700000000007 extends ForwardOnlyMigration {
  readonly name = 'ThrottleHits1700000000007';

  protected readonly sql = `
    create unlogged table throttle_hits (
      key text not null,
      window_start timestamptz not null,
      hits bigint not null,
      expires_at timestamptz not null,
      primary key (key, window_start)
    ) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 0);
    create index throttle_hits_expired on throttle_hits (expires_at);
  `;
}

// Old code still runs against it: it only adds tables.
/** Owner: mailbox. */
export class Mailbox1700000000008 extends ForwardOnlyMigration {
  readonly name = 'Mailbox1700000000008';

  protected readonly sql = `
    create table mailbox_messages (
      id uuid primary key,
      received_at timestamptz not null default now(),
      return_path text not null,
      recipients text[] not null,
      sender text not null,
      subject text not null,
      size integer not null,
      raw bytea not null
    );
    -- Compressing every message costs more than the space is worth here.
    alter table mailbox_messages alter column raw set storage external;
  `;
}

// Old code still runs against it: it only adds tables.
/** Owner: inbound. */
export class InboundReports1700000000009 extends ForwardOnlyMigration {
  readonly name = 'InboundReports1700000000009';

  protected readonly sql = `
    -- Bounce messages with a Return-Path line before them, committed before the listener's 250.
    create table inbound_reports (
      organization_id uuid not null,
      mode text not null,
      email_id uuid not null,
      position smallint not null,
      -- SHA-256 of the raw bytes: the same report twice is stored once.
      digest bytea not null,
      id uuid not null,
      received_at timestamptz not null default now(),
      raw bytea not null,
      primary key (organization_id, mode, email_id, position, digest)
    );
    -- Retention and the parser go by the order of arrival.
    create index inbound_reports_id on inbound_reports (id);
  `;
}
