// Old code still runs against it: it only adds functions.
import { ForwardOnlyMigration } from './forward-only';

/**
 * Tables that grow with time are partitioned by month through the range of their UUID version 7 ids (RFC 9562: the
 * first 48 bits are milliseconds since the epoch), so that a look-up by id touches one partition and retention drops one.
 */
export class UuidV7Partitions1700000000001 extends ForwardOnlyMigration {
  readonly name = 'UuidV7Partitions1700000000001';

  protected readonly sql = `
    create function uuid_v7_floor(moment timestamptz) returns uuid
    language sql stable strict parallel safe
    as $$
      select (lpad(to_hex((extract(epoch from moment) * 1000)::bigint), 12, '0') || '00000000000000000000')::uuid
    $$;

    create procedure create_month_partitions(parent text, months_ahead integer)
    language plpgsql
    as $$
    declare
      -- In UTC and without a zone: a month added to a timestamptz would be one of the session's time zone.
      month timestamp;
      partition text;
    begin
      perform pg_advisory_xact_lock(hashtext('create_month_partitions'));
      for step in 0..months_ahead loop
        month := date_trunc('month', now() at time zone 'UTC') + make_interval(months => step);
        partition := parent || '_' || to_char(month, 'YYYY_MM');
        continue when to_regclass(partition) is not null;
        execute format('create table %I partition of %I for values from (%L) to (%L) with (fillfactor = %s)',
          partition, parent, uuid_v7_floor(month at time zone 'UTC'),
          uuid_v7_floor((month + interval '1 month') at time zone 'UTC'),
          -- These rows change twice soon after they were written. With room for that on their page no index grows (HOT):
          -- a sixth less work for the database in deliveries, and as much space as it takes.
          case when parent in ('emails', 'email_recipients') then 60 else 100 end);
      end loop;
    end
    $$;
  `;
}
