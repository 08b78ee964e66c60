/**
 * Replaces the extension, in the parts that our functions and commands use: its catalogue, empty, and functions that note
 * their calls in `citus_calls`, and return the nodes' results from `citus_answers`. Nothing is distributed by it; what the real one
 * makes of our statements is tried on a cluster.
 */
export const FAKE_CITUS = `
  create table pg_dist_partition (logicalrelid regclass primary key, partmethod "char" not null);
  create table pg_dist_node (
    nodename text, shouldhaveshards boolean default true, isactive boolean default true, noderole text default 'primary'
  );
  create table citus_calls (place serial, call text not null);
  create table citus_answers (success boolean not null, result text not null);
  create function create_distributed_table(
    relation regclass, distribution_column text, colocate_with text default 'default', shard_count int default null
  ) returns void
  language plpgsql as $$ begin
    insert into pg_dist_partition values (relation, 'h');
    insert into citus_calls (call) values (format('%s by %s beside %s, %s, empty: %s', relation, distribution_column, colocate_with,
      shard_count, pg_relation_size(relation) = 0));
  end $$;
  create function truncate_local_data_after_distributing_table(relation regclass) returns void
  language sql as $$ insert into citus_calls (call) values ('truncate ' || relation) $$;
  create function citus_total_relation_size(relation regclass) returns bigint
  language sql as $$ insert into citus_calls (call) values ('size of ' || relation) returning 7::bigint $$;
  create function run_command_on_all_nodes(command text) returns table (success boolean, result text)
  language sql as $$ select success, result from citus_answers $$;
  create function run_command_on_workers(command text) returns text
  language sql as $$ insert into citus_calls (call) values (command) returning call $$`;
