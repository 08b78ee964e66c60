// Old code still runs against it: it adds a column without rewriting anything, and what is compressed is read as before.
import { commentOn } from './data-map/comment-on';
import { ForwardOnlyMigration } from './forward-only';

/**
 * Owner: emails. Postgres compresses the values of a row only when the row is longer than a quarter of a page, and the content
 * of an ordinary email is not. A column of blanks, which itself shrinks to some 30 bytes, makes every row long enough
 * (docs/adr/0041-compressed-contents.md).
 */
export class CompressedContents1700000000086 extends ForwardOnlyMigration {
  readonly name = 'CompressedContents1700000000086';

  protected readonly sql = `
    alter table email_contents add column padding text;
    ${commentOn('email_contents', 'RETENTION_CONTENTS_DAYS after the end of the delivery', {
      padding: 'none: blanks that make the row long enough to be compressed',
    })}

    do $$
    declare
      partition regclass;
    begin
      -- Where rows are on several nodes already, storage cannot be changed from here; they stay as they are.
      if is_distributed('email_contents'::regclass) then return; end if;
      -- main: in the row as long as it fits into a page. Compressed to 128 bytes if that can be, not only to the quarter of a page.
      alter table email_contents
        alter column html set storage main,
        alter column text set storage main,
        alter column headers set storage main,
        alter column addressees set storage main,
        alter column padding set storage main;
      for partition in select inhrelid from pg_inherits where inhparent = 'email_contents'::regclass order by 1 loop
        execute format('alter table %s set (toast_tuple_target = 128)', partition);
      end loop;
      execute format('alter table email_contents alter column padding set default repeat('' '', %s)',
        current_setting('block_size')::integer / 4);
    end $$;

    -- As in 0043. New: a month has the storage parameters of the default partition.
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
      parameters text;
      columns text;
      is_needed boolean;
    begin
      if not pg_try_advisory_xact_lock(hashtext('create_month_partitions')) then return 'busy'; end if;
      if to_regclass(partition) is not null then return 'present'; end if;
      key := substring(key from '\\((\\w+)\\)');

      -- Writers wait here, before they choose a partition: one that had chosen the default one would miss what moves out of it.
      execute format('lock table only %I in access exclusive mode', parent);
      execute format('lock table %I in access exclusive mode', fallback);
      execute format('select exists (select 1 from %I where %I >= %L and %I < %L)', fallback, key, first_id, key, end_id)
        into is_needed;
      if is_needed and stored_bytes(fallback::regclass) > max_moved_bytes then return 'too_large'; end if;

      select format('with (%s)', array_to_string(reloptions, ', ')) into parameters
      from pg_class
      where oid = fallback::regclass and reloptions is not null;
      execute format('create table %I (like %I including all) %s', partition, parent, parameters);
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
  `;
}
