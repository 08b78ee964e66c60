// Old code still runs against it: it replaces a function by one that answers the same where all processes are one user.
import { ForwardOnlyMigration } from './forward-only';

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
