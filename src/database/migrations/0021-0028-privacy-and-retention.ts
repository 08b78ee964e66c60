// Old code still runs against it: it only adds functions and an index of a small table.
import { ForwardOnlyMigration } from './forward-only';

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
