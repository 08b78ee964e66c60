import { ForwardOnlyMigration } from './forward-only';

// Old code still runs against it: its own event ids are of the same form. Building the index holds back writes meanwhile.
/**
 * Owner: emails. The event log is also the outbox of webhooks and the feed of the API: whoever follows it remembers the
 * last event id seen. For that the ids come from one clock, the database's, and nothing above the horizon is read.
 */
export class EventFeed1700000000017 extends ForwardOnlyMigration {
  readonly name = 'EventFeed1700000000017';

  protected readonly sql = `
    -- A UUID version 7 (RFC 9562): milliseconds, then 12 bits that keep the rows of one statement in order. Each parameter
    -- is used once, so that Postgres inlines it (2 µs instead of 10).
    create function event_id(moment timestamptz, number bigint) returns uuid
    language sql volatile parallel safe
    as $$
      select encode(
        int8send(((extract(epoch from moment) * 1000)::bigint << 16) | 28672 | (number & 4095))
          || substring(uuid_send(gen_random_uuid()) from 9),
        'hex')::uuid
    $$;

    -- No event with a smaller id will appear any more: event ids are made inside transactions, and none that may still
    -- commit began before. A reader asks for it in a statement of its own, before the one that reads (whose snapshot must
    -- be the later one). A long transaction that has written nothing, such as a dump, is not waited for.
    create function event_horizon() returns uuid
    language plpgsql volatile
    as $$
    declare
      asked_at timestamptz := clock_timestamp();
    begin
      return uuid_v7_floor(least(asked_at, (
        select min(xact_start)
        from pg_stat_activity
        where datname = current_database() and backend_type = 'client backend' and pid <> pg_backend_pid()
          and (backend_xid is not null or xact_start > asked_at - interval '30 seconds')
      )));
    end $$;

    create index email_events_feed on email_events (organization_id, mode, id);
  `;
}

// Old code still runs against it: it adds a table, a function and indexes. Building them holds back writes meanwhile.
/** Owner: suppressions. */
export class SuppressionList1700000000018 extends ForwardOnlyMigration {
  readonly name = 'SuppressionList1700000000018';

  protected readonly sql = `
    -- With the expiry, so that a total is counted in the index alone.
    create index suppressions_listing on suppressions (organization_id, mode, suppressed_at desc, id desc)
      include (expires_at);
    create index suppressions_by_reason on suppressions (organization_id, mode, reason, suppressed_at desc, id desc)
      include (expires_at);
    create index suppressions_expiry on suppressions (expires_at) where expires_at is not null;

    -- The last soft bounces of an address, as far as they may still count.
    create table soft_bounces (
      organization_id uuid not null,
      mode text not null,
      -- The normal form of common/mail-address: what is matched.
      address_key text not null,
      -- Oldest first.
      bounced_at timestamptz[] not null,
      last_bounced_at timestamptz not null,
      primary key (organization_id, mode, address_key)
    );
    create index soft_bounces_age on soft_bounces (last_bounced_at);

    -- The latest of the moments, oldest first: those at most window_length before the very last, and no more than most.
    create function latest_within(moments timestamptz[], window_length interval, most integer) returns timestamptz[]
    language sql immutable parallel safe
    as $$
      select array_agg(moment order by moment)
      from (
        select moment
        from unnest(moments) moment
        where moment >= (select max(latest) from unnest(moments) latest) - window_length
        order by moment desc
        limit most
      ) kept
    $$;
  `;
}

// Old code still runs against it: it adds columns with defaults, and a table. Rows from before count as open.
/** Owner: inbound. */
export class ReportProcessing1700000000019 extends ForwardOnlyMigration {
  readonly name = 'ReportProcessing1700000000019';

  protected readonly sql = `
    alter table inbound_reports
      -- How often a worker has taken it up, and until when it is that worker's.
      add column attempts smallint not null default 0,
      add column claimed_until timestamptz,
      -- Set together at the end: what the report turned out to be.
      add column processed_at timestamptz,
      add column disposition text;
    create index inbound_reports_open on inbound_reports (id) where processed_at is null;

    -- Mail to the addresses that anyone may write to; what it is about is found out later, if at all.
    create table feedback_reports (
      -- SHA-256 of the raw bytes: the same message twice is stored once.
      digest bytea primary key,
      id uuid not null,
      -- fbl, postmaster or abuse.
      mailbox text not null,
      received_at timestamptz not null,
      raw bytea not null,
      attempts smallint not null default 0,
      claimed_until timestamptz,
      processed_at timestamptz,
      disposition text,
      -- The delivery, once it is known.
      organization_id uuid,
      mode text,
      email_id uuid,
      position smallint
    );
    create index feedback_reports_id on feedback_reports (id);
    -- The limits are counted for each mailbox.
    create index feedback_reports_mailbox on feedback_reports (mailbox, id);
    create index feedback_reports_open on feedback_reports (id) where processed_at is null;
  `;
}

// Old code still runs against it: it only adds tables.
/** Owner: webhooks. */
export class Webhooks1700000000020 extends ForwardOnlyMigration {
  readonly name = 'Webhooks1700000000020';

  protected readonly sql = `
    create table webhook_endpoints (
      organization_id uuid not null,
      mode text not null check (mode in ('live', 'test')),
      id uuid not null,
      -- Set when a key made it that is bound to a domain: it hears of that domain's emails only.
      domain_id uuid,
      url text not null,
      -- Event types, or '*'.
      events text[] not null,
      description text,
      enabled boolean not null,
      -- request: by the customer; gone: answered 410; failing: nothing but failures for five days.
      disabled_reason text check (disabled_reason in ('request', 'gone', 'failing')),
      disabled_at timestamptz,
      -- Sealed.
      secret bytea not null,
      previous_secret bytea,
      previous_secret_until timestamptz,
      -- Events up to this id (of emails' event feed) have become messages.
      position uuid not null,
      -- Since when every attempt has failed.
      failing_since timestamptz,
      last_success_at timestamptz,
      created_at timestamptz not null,
      updated_at timestamptz not null,
      primary key (organization_id, mode, id)
    );

    -- One event for one endpoint. It holds no payload: that is made of the event when it is sent, so that what is erased
    -- there is erased here.
    create table webhook_messages (
      organization_id uuid not null,
      mode text not null,
      endpoint_id uuid not null,
      -- The event's id, and the webhook-id that the receiver sees; a test message has one of its own.
      id uuid not null,
      -- The event; null in a test message.
      email_id uuid,
      sequence integer,
      event_type text not null,
      -- pending: due at next_attempt_at; sending: a worker has it until claimed_until; delivered, failed: the end.
      state text not null check (state in ('pending', 'sending', 'delivered', 'failed')),
      attempts integer not null default 0,
      next_attempt_at timestamptz not null,
      claimed_until timestamptz,
      last_attempt_at timestamptz,
      -- HTTP status of the last answer.
      last_status integer,
      -- What went wrong last, or why it was given up.
      last_error text,
      delivered_at timestamptz,
      created_at timestamptz not null,
      primary key (organization_id, mode, endpoint_id, id)
    ) with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.05);
    create index webhook_messages_due on webhook_messages (organization_id, mode, endpoint_id, next_attempt_at)
      where state = 'pending';
    create index webhook_messages_sending on webhook_messages (claimed_until) where state = 'sending';
    create index webhook_messages_age on webhook_messages (created_at);
    create index webhook_messages_failed on webhook_messages (organization_id, mode, endpoint_id, id)
      where state = 'failed';

    -- The events of a span that become messages once more, a few at a time; at most one for an endpoint.
    create table webhook_replays (
      organization_id uuid not null,
      mode text not null,
      endpoint_id uuid not null,
      -- Events up to this id are done with; the row goes when none is left below end_before.
      position uuid not null,
      end_before uuid not null,
      updated_at timestamptz not null,
      primary key (organization_id, mode, endpoint_id)
    );

    -- Endpoints that are gone and whose messages are still to be deleted.
    create table webhook_removals (
      organization_id uuid not null,
      mode text not null,
      endpoint_id uuid not null,
      primary key (organization_id, mode, endpoint_id)
    );
  `;
}
