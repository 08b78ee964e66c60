import { escapeIdentifier, escapeLiteral } from 'pg';
import { type ClusterState, TENANT_POLICY } from './cluster-state';

/** One statement of what turns an ordinary database into a distributed one. */
export interface ClusterStep {
  readonly sql: string;
  /** For people. */
  readonly why: string;
}

/** What hinders it, as sentences that say what to do; empty: nothing. */
export function hindrancesOf({ extension, nodes, tables }: ClusterState): string[] {
  if (extension === undefined) {
    return [
      'The database does not have the extension citus: install Citus on every node, load it with ' +
        '`shared_preload_libraries = citus`, and run `create extension citus` in this database on each of them',
    ];
  }
  const hindrances = tables.flatMap(({ table, obstacles }) =>
    obstacles.map((obstacle) => `${table} cannot be distributed because of ${obstacle}: remove it first`),
  );
  if (nodes > 0) return hindrances;
  return [
    'The cluster has no node that may hold rows: run `select citus_add_node(host, port)` on this one, the coordinator, ' +
      'for every worker node',
    ...hindrances,
  ];
}

/**
 * Settings of every connection to the database. One connection for each node and statement, and one shard after the other in
 * statements over several: 2.1 ms instead of 38 for a settlement over two nodes.
 */
const COORDINATOR = {
  'citus.max_adaptive_executor_pool_size': '1',
  'citus.multi_shard_modify_mode': 'sequential',
};

/** As a transaction of this service sets them for itself: those do not reach the nodes. */
const NODES = { enable_seqscan: 'off', enable_hashjoin: 'off', enable_mergejoin: 'off', jit: 'off' };

/** Everything that is left to be done, in order; only settings, once all tables are distributed. */
export function stepsOf({ database, tables }: ClusterState, shards: number): ClusterStep[] {
  const settings = Object.entries(COORDINATOR).map(([name, value]) => ({
    sql: `alter database ${escapeIdentifier(database)} set ${name} = ${escapeLiteral(value)}`,
    why: 'a setting of every connection',
  }));
  const ofNodes = Object.entries(NODES).map(([name, value]) => {
    const command = `alter database ${escapeIdentifier(database)} set ${name} = ${escapeLiteral(value)}`;
    return {
      sql: `select run_command_on_workers(${escapeLiteral(command)})`,
      why: 'plans on the nodes look rows up by index, as here',
    };
  });
  const [first] = tables;
  const left = tables.filter(({ distributed }) => !distributed);
  return [
    ...settings,
    ...ofNodes,
    ...left.flatMap(({ table, tenantRole }) => {
      const revoke = tenantRole === null ? '' : `; revoke all on ${table} from ${tenantRole}`;
      const beside = table === first?.table ? `shard_count => ${shards}` : `colocate_with => '${first?.table}'`;
      return [
        {
          sql: `drop policy if exists ${TENANT_POLICY} on ${table}; alter table ${table} disable row level security${revoke}`,
          why: 'nodes can hold neither the policy of row-level security nor its role; the filter of every query stays',
        },
        {
          sql: `select create_distributed_table('${table}', 'organization_id', ${beside})`,
          why: 'its rows move to the nodes, each organization as a whole; nothing writes meanwhile',
        },
        {
          sql: `select truncate_local_data_after_distributing_table('${table}')`,
          why: 'the copies that stay behind are removed',
        },
      ];
    }),
  ];
}
