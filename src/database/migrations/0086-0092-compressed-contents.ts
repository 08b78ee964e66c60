import { commentOn } from './data-map/comment-on';
import { BuildIndexesMigration, ForwardOnlyMigration } from './forward-only';

// Old code still runs against it: it adds a column without rewriting anything, and what is compressed is read as before.
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

// Old code still runs against it: it only adds an index.
/** Owner: inbound-mail. */
export class CrowdedInboundMail1700000000089 extends BuildIndexesMigration {
  readonly name = 'CrowdedInboundMail1700000000089';

  /** Mail that names as many as are indexed, or more: whoever is erased is looked for in its header. Hardly any is in it. */
  protected readonly indexes = [
    {
      name: 'inbound_emails_crowded',
      table: 'inbound_emails',
      definition: '(organization_id, mode, id) where cardinality(addresses) >= 200',
    },
  ];
}

// Old code still runs against it: how it is stored is no business of statements.
/** Owner: emails. */
export class AttachmentsAsTheyAre1700000000090 extends ForwardOnlyMigration {
  readonly name = 'AttachmentsAsTheyAre1700000000090';

  // Of what comes from now on, in all partitions; no row is rewritten. Most files are compressed by their own format, and pglz tries
  // all of one that begins with text, like a PDF: 69 ms of CPU for 5 MB rather than 22. Text takes more room (5 MB of CSV were 1.8).
  protected readonly sql = `
    do $$
    begin
      -- Where rows are on several nodes already, storage cannot be changed from here; they stay as they are.
      if is_distributed('email_attachments'::regclass) then return; end if;
      alter table email_attachments alter column content set storage external;
    end $$;
  `;
}

// Old code still runs against it: it only says more of columns.
/** Owner: emails, templates, privacy. */
export class WordsOfTenants1700000000091 extends ForwardOnlyMigration {
  readonly name = 'WordsOfTenants1700000000091';

  // Of columns that hold what customers have written, and were said to hold nothing of people.
  protected readonly sql = `
    ${commentOn('templates', 'until it is deleted', { name: 'text: the customer’s own name for it' })}
    ${commentOn('template_versions', 'until the template is deleted, or 200 versions later', {
      subject: 'text: what all mails made from it say',
      html: 'text: what all mails made from it say',
      text: 'text: what all mails made from it say',
    })}
    ${commentOn('email_attachments', 'RETENTION_CONTENTS_DAYS after the end of the delivery', {
      content_type: 'content: sent',
      content_id: 'content: lets the html refer to it',
    })}
    ${commentOn('privacy_requests', 'until the request ends', {
      progress: 'text: where to go on, such as an idempotency key',
    })}
  `;
}

// Old code still runs against it: it replaces a function by one that answers the same where all processes are one user.
/**
 * Owner: emails. The function of 0043 for processes that connect as different members of the tables' owner: one for each role, or
 * two while a password is changed.
 */
export class HorizonOfOthers1700000000092 extends ForwardOnlyMigration {
  readonly name = 'HorizonOfOthers1700000000092';

  protected readonly sql = `
    -- New: when the transactions of another user began, Postgres does not say. One that has made ids of events holds this lock
    -- until its end, which everyone sees, and began less than a minute ago, since statements have time limits. One that has
    -- not makes them later than now. The locks are looked at only where there are sessions of others.
    create or replace function event_horizon() returns uuid
    language plpgsql volatile
    as $$
    declare
      asked_at timestamptz := clock_timestamp();
      horizon timestamptz;
      node record;
      left_behind timestamptz;
      is_hidden boolean;
    begin
      select least(asked_at, min(xact_start)) into horizon
      from pg_stat_activity
      where datname = current_database() and backend_type = 'client backend' and pid <> pg_backend_pid()
        and (backend_xid is not null or xact_start > asked_at - interval '30 seconds');

      is_hidden := exists (
        select from pg_stat_activity
        where datname = current_database() and usesysid is not null and query = '<insufficient privilege>'
      );
      if is_hidden and exists (
        select from pg_locks l
        join pg_stat_activity a on a.pid = l.pid and a.query = '<insufficient privilege>'
        where l.locktype = 'relation' and l.relation = 'email_events'::regclass and l.mode = 'RowExclusiveLock' and l.granted
          and l.database = (select oid from pg_database where datname = current_database())
      ) then
        horizon := least(horizon, asked_at - interval '1 minute');
      end if;
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
    end $$;;
  `;
}
