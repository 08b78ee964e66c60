import { Client, escapeIdentifier, escapeLiteral } from 'pg';
import { AppError } from '../../common/errors/app-error';
import { MIGRATION_LOCK } from '../start/migrate';
import { type ClusterState, readClusterState, TENANT_POLICY } from './cluster-state';

/** One statement of what turns an ordinary database into a distributed one. */
interface ClusterStep {
  readonly sql: string;
  /** For people. */
  readonly why: string;
}

/** What hinders it, as sentences that say what to do; empty: nothing. */
function hindrancesOf({ extension, nodes, tables }: ClusterState): string[] {
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
function stepsOf({ database, tables }: ClusterState, shards: number): ClusterStep[] {
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

export interface ClusterPlan {
  readonly state: ClusterState;
  readonly hindrances: readonly string[];
  readonly steps: readonly ClusterStep[];
}

export interface DistributeOptions {
  /** In the order in which they are to be distributed; the others lie beside the first. */
  readonly tables: readonly string[];
  /** Parts into which the first table is divided. */
  readonly shards: number;
}

/** What turns a database into a distributed one (docs/scaling.md), or what hinders it. */
export function planCluster(url: string, options: DistributeOptions): Promise<ClusterPlan> {
  return withClient(url, (client) => readPlan(client, options));
}

/**
 * Carries the plan out, one statement after the other; what a failure has left undone, the next call does. Migrations wait for
 * it, and it waits for them.
 *
 * @param note gets every step before it is run
 * @returns the steps that were run
 * @throws AppError invalid_request, with what to do first
 */
export function applyCluster(
  url: string,
  options: DistributeOptions,
  note: (message: string) => void,
): Promise<readonly ClusterStep[]> {
  return withClient(url, async (client) => {
    await client.query('select pg_advisory_lock($1)', [MIGRATION_LOCK]);
    const { state, hindrances, steps } = await readPlan(client, options);
    if (hindrances.length > 0) throw refused(hindrances.join('. '));
    if (state.sessions > 0) {
      throw refused(
        `The service is running: ${state.sessions} sessions of it are open. Stop all its processes, then distribute`,
      );
    }
    // One partition and one part after the other: in parallel, what follows in a transaction would be refused.
    await client.query(`set citus.multi_shard_modify_mode = 'sequential'`);
    for (const { sql } of steps) {
      note(sql);
      await client.query(sql);
    }
    return steps;
  });
}

async function readPlan(client: Client, { tables, shards }: DistributeOptions): Promise<ClusterPlan> {
  const state = await readClusterState(client, tables);
  const hindrances = hindrancesOf(state);
  return { state, hindrances, steps: state.extension === undefined ? [] : stepsOf(state, shards) };
}

async function withClient<T>(url: string, work: (client: Client) => Promise<T>): Promise<T> {
  const client = new Client({ connectionString: url, application_name: 'waybill-cluster', keepAlive: true });
  // A connection that breaks fails the statement that is under way.
  client.on('error', () => undefined);
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

function refused(message: string): AppError {
  return new AppError('invalid_request', message);
}
