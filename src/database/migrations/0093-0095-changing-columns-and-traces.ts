import { commentOn, keptFor } from './data-map/comment-on';
import { ForwardOnlyMigration } from './forward-only';

// Old code still runs against it: statements name their columns, whose places in a partition are its own.
/**
 * Owner: emails. The write-ahead log of an update holds a row from its first changed byte to its last one. Months of `emails` that
 * begin from now on have the columns which deliveries change at their end, so that the log of a result holds these, and not
 * addresses and subject as well: 100 bytes instead of 270. Half of each page is left for that, and of the queue's pages too: with less,
 * every seventh row went to another page, as a whole and with its index entry. Months with rows stay as they are.
 */
export class ChangingColumnsLast1700000000093 extends ForwardOnlyMigration {
  readonly name = 'ChangingColumnsLast1700000000093';

  protected readonly sql = `
    -- As in 0086. New: a month has the order of columns of the default partition.
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
      execute format('create table %I (like %I including all) %s', partition, fallback, parameters);
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

    alter table deliveries set (fillfactor = 50);

    do $$
    declare
      -- In the order that pads least behind created_at. Of a delivery to a relay four change, and they end the row.
      changing text[] := array['open_count', 'click_count', 'failed_at', 'bounced_at', 'delivered_at', 'sent_at', 'updated_at',
        'event_sequence', 'status'];
      definitions text;
      bounds text;
      partition regclass;
      name text;
    begin
      -- Where rows are on several nodes already, their months stay as they are.
      if is_distributed('emails'::regclass) then return; end if;
      select string_agg(definition, ', ' order by place, attnum) into definitions
      from (
        select coalesce(array_position(changing, a.attname::text), 0) as place, a.attnum,
          format('%I %s', a.attname, format_type(a.atttypid, a.atttypmod))
            || coalesce(' default ' || pg_get_expr(d.adbin, d.adrelid), '')
            || case when a.attnotnull then ' not null' else '' end as definition
        from pg_attribute a
        left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
        where a.attrelid = 'emails'::regclass and a.attnum > 0 and not a.attisdropped
        union all
        select cardinality(changing) + 1, 0, format('constraint %I %s', conname, pg_get_constraintdef(oid))
        from pg_constraint
        where conrelid = 'emails'::regclass and contype = 'c'
      ) parts;

      -- The months ahead, and the default partition. Nothing is written between look and change. Where the default partition has
      -- rows, because a month was missing, adding one would read through them.
      execute format('lock table only %I in access exclusive mode', 'emails');
      if pg_relation_size('emails_default') > 0 then return; end if;
      for partition, bounds in
        select c.oid, pg_get_expr(c.relpartbound, c.oid)
        from pg_inherits i
        join pg_class c on c.oid = i.inhrelid
        where i.inhparent = 'emails'::regclass and pg_relation_size(c.oid) = 0
        order by c.relname desc
      loop
        name := partition::text;
        execute format('drop table %s', name);
        execute format('create table %s (%s) with (fillfactor = 50)', name, definitions);
        execute format('alter table emails attach partition %s %s', name, bounds);
      end loop;
    end $$;
  `;
}

// Old code still runs against it: it adds a column. Of attempts that succeed under new workers, old processes show no details.
/** Owner: emails. What `trace` holds, as a text of a third of its length, for the event that every mail has. */
export class PackedTraces1700000000094 extends ForwardOnlyMigration {
  readonly name = 'PackedTraces1700000000094';

  protected readonly sql = `
    alter table email_events add column attempt text;
    ${commentOn('email_events', 'RETENTION_EMAILS_MONTHS', {
      attempt: 'none: of an attempt that succeeded its times, the receiving host and TLS',
    })}
  `;
}

const REPORTS = 'RETENTION_INBOUND_DAYS; a day when a program’s address got no complaint about our mail';

// Old code still runs against it: it only changes what is said of columns.
/** Owner: auth, domains, inbound, emails, mailbox, throttling, delivery. What is said of tables follows what the jobs remove. */
export class HowLongItIsKept1700000000095 extends ForwardOnlyMigration {
  readonly name = 'HowLongItIsKept1700000000095';

  protected readonly sql = `
    ${keptFor('api_keys', 'until 500 of the organization have ended after it and another is made; of a session of the console 30 days after its end')}
    ${keptFor('operator_keys', 'as long as the installation; of a session of the console 30 days after its end')}
    ${keptFor('console_sessions', 'until the sign-out; after its end (12 hours) until anyone signs in')}
    ${keptFor('console_links', 'until it is used; after its end (15 minutes) until anyone signs in')}
    ${keptFor('removed_domains', 'as long as the organization, or until the domain is added again')}
    ${keptFor('test_usage', 'two days; the count of the domain’s lifetime as long as the organization')}
    ${keptFor('feedback_reports', REPORTS)}
    ${keptFor('inbound_usage', 'as long as the organization')}
    ${keptFor('mailbox_messages', 'local mode only: the newest, up to 1,100 and 200 MB')}
    ${keptFor('throttle_hits', 'the window: a day at most')}
    ${keptFor('egress_addresses', 'as long as the installation')}
    ${keptFor('job_leases', 'until the run ends; after a crash until the next run')}
    ${commentOn('feedback_reports', REPORTS, {
      mailbox: 'none: fbl, dmarc, tls-reports, postmaster or abuse',
      raw: 'content: the message as it came; emptied once it has been read, except to postmaster and abuse',
    })}
    ${commentOn('deliveries', 'until the delivery has ended: four days at most after it was due', {
      state: 'none: waiting, ready, claimed or held',
    })}
  `;
}
