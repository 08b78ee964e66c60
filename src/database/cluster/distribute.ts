import { Client } from 'pg';
import { AppError } from '../../common/errors/app-error';
import { MIGRATION_LOCK } from '../migrate';
import { type ClusterStep, hindrancesOf, stepsOf } from './cluster-plan';
import { type ClusterState, readClusterState } from './cluster-state';

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
