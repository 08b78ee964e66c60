import { commentOn } from './data-map/comment-on';
import { BuildIndexesMigration, ForwardOnlyMigration } from './forward-only';

// Old code still runs against it: it replaces functions by ones that answer the same.
/**
 * Owner: emails. The functions of 0017 and 0027 for tables whose rows are on several nodes (docs/scaling.md). Without the
 * extension that spreads them they do what they did.
 */
export class DistributedTables1700000000043 extends ForwardOnlyMigration {
  readonly name = 'DistributedTables1700000000043';

  protected readonly sql = `
    create function is_distributed(relation regclass) returns boolean
    language plpgsql stable
    as $$
    declare
      found_one boolean;
    begin
      if to_regclass('pg_dist_partition') is null then return false; end if;
      execute 'select exists (select 1 from pg_dist_partition where logicalrelid = $1 and partmethod = ''h'')'
        into found_one using relation;
      return found_one;
    end $$;

    -- With indexes and TOAST, over all nodes.
    create function stored_bytes(relation regclass) returns bigint
    language plpgsql volatile
    as $$
    declare
      bytes bigint;
    begin
      if not is_distributed(relation) then return pg_total_relation_size(relation); end if;
      execute 'select citus_total_relation_size($1)' into bytes using relation;
      return bytes;
    end $$;

    -- As in 0027. New: a month of a distributed table is distributed before rows move into it, beside those of its parent; rows
    -- move by the names of their columns, whose places can differ on nodes, and by two statements of one table each.
    create or replace function add_month_partition(parent text, month date, max_moved_bytes bigint) returns text
    language plpgsql
    set lock_timeout = '1500ms'
    as $$
    declare
      partition text := parent || '_' || to_char(month, 'YYYY_MM');
      fallback text := parent || '_default';
      key text := pg_get_partkeydef(parent::regclass);
      first_id uuid := uuid_v7_floor(month::timestamp at time zone 'UTC');
      end_id uuid := uuid_v7_floor((month + interval '1 month') at time zone 'UTC');
      columns text;
      is_needed boolean;
    begin
      if not pg_try_advisory_xact_lock(hashtext('create_month_partitions')) then return 'busy'; end if;
      if to_regclass(partition) is not null then return 'present'; end if;
      key := substring(key from '\\((\\w+)\\)');

      -- Everybody waits here, before he looks for partitions: who had chosen the default one would miss what moves out of it.
      execute format('lock table only %I in access exclusive mode', parent);
      execute format('lock table %I in access exclusive mode', fallback);
      execute format('select exists (select 1 from %I where %I >= %L and %I < %L)', fallback, key, first_id, key, end_id)
        into is_needed;
      if is_needed and stored_bytes(fallback::regclass) > max_moved_bytes then return 'too_large'; end if;

      execute format('create table %I (like %I including all) with (fillfactor = %s)', partition, parent,
        -- As in 0001: these rows change twice soon after they were written.
        case when parent in ('emails', 'email_recipients') then 60 else 100 end);
      if is_distributed(parent::regclass) then
        execute 'select create_distributed_table($1::regclass, ''organization_id'', colocate_with => $2)'
          using partition, parent;
      end if;
      if is_needed then
        select string_agg(quote_ident(attname), ', ' order by attnum) into columns
        from pg_attribute
        where attrelid = parent::regclass and attnum > 0 and not attisdropped and attgenerated = '';
        execute format('insert into %I (%s) select %s from %I where %I >= %L and %I < %L',
          partition, columns, columns, fallback, key, first_id, key, end_id);
        execute format('delete from %I where %I >= %L and %I < %L', fallback, key, first_id, key, end_id);
      end if;
      execute format('alter table %I attach partition %I for values from (%L) to (%L)', parent, partition, first_id, end_id);
      return 'created';
    end
    $$;

    -- As in 0017. New: where rows are on several nodes, a transaction whose commit was interrupted still comes, though nothing
    -- runs it any more. It is prepared on a node; it began less than a minute before that, since statements have time limits.
    -- One that is prepared and still runs counts by its beginning, as any other.
    create or replace function event_horizon() returns uuid
    language plpgsql volatile
    as $$
    declare
      asked_at timestamptz := clock_timestamp();
      horizon timestamptz;
      node record;
      left_behind timestamptz;
    begin
      select least(asked_at, min(xact_start)) into horizon
      from pg_stat_activity
      where datname = current_database() and backend_type = 'client backend' and pid <> pg_backend_pid()
        and (backend_xid is not null or xact_start > asked_at - interval '30 seconds');
      if to_regproc('run_command_on_all_nodes') is null then return uuid_v7_floor(horizon); end if;

      for node in execute 'select success, result from run_command_on_all_nodes($1)' using
        $command$
          select coalesce(jsonb_agg(jsonb_build_object('gid', gid, 'at', extract(epoch from prepared))), '[]')
          from pg_prepared_xacts
          where database = current_database()
        $command$
      loop
        if not node.success then
          raise exception 'a node cannot be asked for its open transactions: %', node.result using errcode = '55000';
        end if;
        select min(to_timestamp((p ->> 'at')::float8)) into left_behind
        from jsonb_array_elements(node.result::jsonb) p
        where not exists (
          -- The third part of the name is the process that commits it.
          select 1
          from pg_stat_activity a
          where p ->> 'gid' like 'citus\\_%' and a.pid::text = split_part(p ->> 'gid', '_', 3)
            and a.datname = current_database() and a.xact_start >= horizon
            and a.xact_start <= to_timestamp((p ->> 'at')::float8)
        );
        horizon := least(horizon, left_behind - interval '1 minute');
      end loop;
      return uuid_v7_floor(horizon);
    end $$;
  `;
}

// Old code still runs against it: it only adds tables.
/** Owner: templates. */
export class Templates1700000000044 extends ForwardOnlyMigration {
  readonly name = 'Templates1700000000044';

  protected readonly sql = `
    create table templates (
      organization_id uuid not null,
      id uuid not null,
      name text not null,
      version integer not null,
      created_at timestamptz not null,
      updated_at timestamptz not null,
      primary key (organization_id, id)
    );
    create unique index templates_name on templates (organization_id, name);
    ${commentOn('templates', 'until it is deleted', {
      organization_id: 'none: the tenant',
      id: 'none: the template',
      name: 'none: the customer’s own name for it',
      version: 'none: the latest version',
      created_at: 'none: when it was made',
      updated_at: 'none: when it was changed',
    })}
    create table template_versions (
      organization_id uuid not null,
      template_id uuid not null,
      version integer not null,
      subject text not null,
      html text,
      text text,
      variables text[] not null,
      created_at timestamptz not null,
      primary key (organization_id, template_id, version)
    );
    ${commentOn('template_versions', 'until the template is deleted, or 200 versions later', {
      organization_id: 'none: the tenant',
      template_id: 'none: the template',
      version: 'none: counts from 1',
      subject: 'none: what all mails made from it say',
      html: 'none: what all mails made from it say',
      text: 'none: what all mails made from it say',
      variables: 'none: names of what is filled in for each mail',
      created_at: 'none: when it was made',
    })}
  `;
}

// Old code still runs against it: it only adds a table.
/** Owner: database. */
export class BackfillRuns1700000000045 extends ForwardOnlyMigration {
  readonly name = 'BackfillRuns1700000000045';

  protected readonly sql = `
    create table backfill_runs (
      name text primary key,
      position text not null,
      total bigint not null,
      examined bigint not null,
      changed bigint not null,
      started_at timestamptz not null,
      updated_at timestamptz not null,
      finished_at timestamptz
    );
    ${commentOn('backfill_runs', 'as long as the installation', {
      name: 'none: the backfill',
      position: 'none: ids of the row from which it goes on',
      total: 'none: about how many rows it examines',
      examined: 'none: how many it has examined',
      changed: 'none: how many it has changed',
      started_at: 'none: when it began',
      updated_at: 'none: when it last came on',
      finished_at: 'none: when it was done',
    })}
  `;
}

// Old code still runs against it: it only changes indexes, to ones that its queries are answered by as well.
/** Owners: audit (what was done in any organization, newest first), delivery (what ends by its time, also while it is held). */
export class OperatorIndexes1700000000046 extends BuildIndexesMigration {
  readonly name = 'OperatorIndexes1700000000046';

  protected readonly indexes = [
    { name: 'audit_log_newest', table: 'audit_log', definition: '(id)' },
    {
      name: 'deliveries_first_due',
      table: 'deliveries',
      definition: `(first_due_at) where state in ('waiting', 'ready', 'held')`,
      replaces: true,
    },
    {
      name: 'deliveries_expiring',
      table: 'deliveries',
      definition: `(expires_at) where state in ('waiting', 'ready', 'held') and expires_at is not null`,
      replaces: true,
    },
  ];
}

// Old code still runs against it: it adds a column with a default, which rewrites nothing. It would send a raw message as an
// empty one with an attachment, so accept raw messages once no worker of the release before is left.
/** Owner: emails. */
export class RawMessages1700000000047 extends ForwardOnlyMigration {
  readonly name = 'RawMessages1700000000047';

  protected readonly sql = `
    -- The message itself lies in email_attachments, in parts of 1 MiB: a column of its own would double what has to be
    -- exported, erased and removed in time.
    alter table email_contents add column is_raw boolean not null default false;
    ${commentOn('email_contents', 'RETENTION_CONTENTS_DAYS after the end of the delivery', {
      is_raw: 'none: whether it came as a whole message',
    })}
  `;
}
