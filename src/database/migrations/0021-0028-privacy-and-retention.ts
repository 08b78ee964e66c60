import { ForwardOnlyMigration } from './forward-only';

const COLUMNS = `
  add column sending_status text not null default 'active' check (sending_status in ('active', 'slowed', 'paused')),
  add column sending_status_reason text check (sending_status_reason in ('bounces', 'complaints', 'operator')),
  -- The operator's own words.
  add column sending_status_note text,
  add column sending_status_since timestamptz,
  -- The last resumption: what happened before is not held against the domain again.
  add column sending_judged_since timestamptz,
  -- Of a slowed domain: since when it has been below the limits without a break.
  add column sending_below_since timestamptz,
  -- Recipients a UTC day while it is slowed.
  add column sending_daily_limit integer,
  add check (sending_status <> 'slowed' or sending_daily_limit is not null)`;

// Old code still runs against it: every new column has a default or may be null. A domain that is slowed or paused is
// held back once every process that accepts or delivers mail is new.
/** Owners: domains; stats. */
export class SendingStatus1700000000021 extends ForwardOnlyMigration {
  readonly name = 'SendingStatus1700000000021';

  protected readonly sql = `
    alter table domains ${COLUMNS};
    alter table removed_domains ${COLUMNS};
    create index domains_restricted on domains (organization_id, id) where sending_status <> 'active';
    -- Who has sent lately, whoever it is. No counter is in it, so that counting stays on the row's page.
    create index stats_hourly_live on stats_hourly (hour) where mode = 'live';
  `;
}

// Old code still runs against it: it only adds a table.
/** Owner: emails. */
export class StatsChecks1700000000022 extends ForwardOnlyMigration {
  readonly name = 'StatsChecks1700000000022';

  protected readonly sql = `
    -- Days whose counters have been compared with the events: one process does it, and all can tell what came out.
    create table stats_checks (
      -- In UTC.
      day date primary key,
      claimed_at timestamptz not null,
      finished_at timestamptz,
      -- Counters that differed.
      drift integer
    );
  `;
}

// Old code still runs against it: it only adds an index.
/** Owner: stats. */
export class ListCounts1700000000023 extends ForwardOnlyMigration {
  readonly name = 'ListCounts1700000000023';

  protected readonly sql = `
    -- A list of all domains finds its pages by these. An hour's row keeps its hour, so that counting stays a HOT update.
    create index stats_hourly_by_hour on stats_hourly (organization_id, mode, hour);
    create index stats_deltas_by_hour on stats_deltas (organization_id, mode, hour);
  `;
}

// Old code still runs against it: it only adds tables.
/** Owner: privacy. */
export class Privacy1700000000024 extends ForwardOnlyMigration {
  readonly name = 'Privacy1700000000024';

  protected readonly sql = `
    -- What data subjects asked for. pending: for any worker; processing: a worker has it until lease_until, and goes on
    -- from progress; completed, failed: the end.
    create table privacy_requests (
      organization_id uuid not null,
      mode text not null check (mode in ('live', 'test')),
      id uuid not null,
      type text not null check (type in ('article_15_access', 'article_17_erasure')),
      -- Sealed JSON {email, reason?}: gone once the subject has been erased.
      subject bytea,
      -- Like j***@example.com.
      masked_email text not null,
      -- Keyed hash of the address's normal form: finds the requests of one subject.
      subject_hash bytea not null,
      format text check (format in ('json', 'csv')),
      status text not null check (status in ('pending', 'processing', 'completed', 'failed')),
      failure text,
      attempts integer not null default 0,
      lease_until timestamptz,
      -- Of the worker that has it: a result is taken only with the newest.
      lease_token uuid,
      progress jsonb not null default '{}',
      -- Of an erasure: {emailsAnonymized, …} and what had to be kept.
      receipt jsonb,
      api_key_id uuid,
      requested_at timestamptz not null,
      completed_at timestamptz,
      -- Of an export's result.
      expires_at timestamptz,
      primary key (organization_id, mode, id)
    );
    create index privacy_requests_open on privacy_requests (requested_at) where status in ('pending', 'processing');
    create index privacy_requests_subject on privacy_requests (organization_id, mode, subject_hash);
    -- Asked again while the first is open, it is the same request.
    create unique index privacy_requests_one_open
      on privacy_requests (organization_id, mode, subject_hash, type, coalesce(format, ''))
      where status in ('pending', 'processing');

    -- An export's result, sealed, in parts that are written as far as the request's progress says.
    create table privacy_export_parts (
      organization_id uuid not null,
      mode text not null,
      request_id uuid not null,
      section text not null check (section in ('emails', 'events', 'suppressions')),
      part integer not null,
      content bytea not null,
      primary key (organization_id, mode, request_id, section, part)
    );
  `;
}

// Old code still runs against it: it reads the two columns as before.
/** Owners: auth (organizations), emails. */
export class TrackingOptIn1700000000025 extends ForwardOnlyMigration {
  readonly name = 'TrackingOptIn1700000000025';

  protected readonly sql = `
    -- Nobody has asked for it so far: nothing was tracked.
    alter table organizations alter column track_opens set default false, alter column track_clicks set default false;
    update organizations set track_opens = false, track_clicks = false where track_opens or track_clicks;
    -- Mail that is still to be sent has the old default.
    update emails e set track_opens = false, track_clicks = false
    from deliveries d
    where (e.organization_id, e.mode, e.id) = (d.organization_id, d.mode, d.email_id) and (e.track_opens or e.track_clicks);
  `;
}

// Old code still runs against it: it only adds a table. Entries that are hashed meanwhile do not block in old processes.
/** Owner: suppressions. */
export class SuppressionHashKeys1700000000026 extends ForwardOnlyMigration {
  readonly name = 'SuppressionHashKeys1700000000026';

  protected readonly sql = `
    -- Organizations of which an address has been erased that must stay blocked: its entries have 'hmac:' and a keyed hash
    -- as their address_key, and a masked address.
    create table suppression_hash_keys (
      organization_id uuid primary key,
      -- 32 random bytes, sealed: not derived from the master key, so that the hashes outlive a change of it.
      secret bytea not null,
      created_at timestamptz not null
    );
  `;
}

// Old code still runs against it: it only adds functions and an index of a small table.
/**
 * Owner: emails, for tables like theirs: partitioned by month through ids of version 7, with a default partition named
 * `<table>_default`. Months are in UTC. Whoever holds the lock of 0001 changes partitions; others are told `busy`. Locks
 * are waited for briefly, because what comes after waits as well; a dump can take hours.
 */
export class Retention1700000000027 extends ForwardOnlyMigration {
  readonly name = 'Retention1700000000027';

  protected readonly sql = `
    -- Adds a month, and moves the rows into it that lie in the default partition because it was missing: a table with such
    -- rows could not be given the partition otherwise. Answers created, present, busy, or too_large: more bytes in the
    -- default partition than may be moved while accepting waits.
    create function add_month_partition(parent text, month date, max_moved_bytes bigint) returns text
    language plpgsql
    set lock_timeout = '1500ms'
    as $$
    declare
      partition text := parent || '_' || to_char(month, 'YYYY_MM');
      fallback text := parent || '_default';
      key text := pg_get_partkeydef(parent::regclass);
      first_id uuid := uuid_v7_floor(month::timestamp at time zone 'UTC');
      end_id uuid := uuid_v7_floor((month + interval '1 month') at time zone 'UTC');
      is_needed boolean;
    begin
      if not pg_try_advisory_xact_lock(hashtext('create_month_partitions')) then return 'busy'; end if;
      if to_regclass(partition) is not null then return 'present'; end if;
      key := substring(key from '\\((\\w+)\\)');

      -- Everybody waits here, before he looks for partitions: who had chosen the default one would miss what moves out of it.
      execute format('lock table only %I in access exclusive mode', parent);
      execute format('lock table %I in access exclusive mode', fallback);
      execute format('select exists (select from %I where %I >= %L and %I < %L)', fallback, key, first_id, key, end_id)
        into is_needed;
      if is_needed and pg_total_relation_size(fallback::regclass) > max_moved_bytes then return 'too_large'; end if;

      execute format('create table %I (like %I including all) with (fillfactor = %s)', partition, parent,
        -- As in 0001: these rows change twice soon after they were written.
        case when parent in ('emails', 'email_recipients') then 60 else 100 end);
      if is_needed then
        execute format(
          'with moved as (delete from %I where %I >= %L and %I < %L returning *) insert into %I select * from moved',
          fallback, key, first_id, key, end_id, partition);
      end if;
      execute format('alter table %I attach partition %I for values from (%L) to (%L)', parent, partition, first_id, end_id);
      return 'created';
    end
    $$;

    -- Drops a month with all its rows. Answers dropped, absent or busy.
    create function drop_month_partition(parent text, month date) returns text
    language plpgsql
    set lock_timeout = '1500ms'
    as $$
    declare
      partition text := parent || '_' || to_char(month, 'YYYY_MM');
    begin
      if not pg_try_advisory_xact_lock(hashtext('create_month_partitions')) then return 'busy'; end if;
      if to_regclass(partition) is null then return 'absent'; end if;
      -- The parent before its partition, as everyone else.
      execute format('lock table only %I in access exclusive mode', parent);
      execute format('drop table %I', partition);
      return 'dropped';
    end
    $$;

    -- Owner: audit. Entries leave by age.
    create index audit_log_occurred_at on audit_log (occurred_at);
  `;
}

// Old code still runs against it: it only adds triggers, and nothing deletes young entries.
/** Owner: audit. */
export class AuditGuard1700000000028 extends ForwardOnlyMigration {
  readonly name = 'AuditGuard1700000000028';

  protected readonly sql = `
    -- Retention may delete, the shortest being one month; what was done lately cannot be hidden.
    create function refuse_young_deletion() returns trigger language plpgsql as $$
      begin
        if old.occurred_at > now() - interval '27 days' then
          raise exception 'audit_log is append-only' using errcode = 'restrict_violation';
        end if;
        return old;
      end $$;
    create trigger audit_log_keep_young before delete on audit_log
      for each row execute function refuse_young_deletion();
    create trigger audit_log_keep_all before truncate on audit_log
      for each statement execute function refuse_change();
  `;
}
