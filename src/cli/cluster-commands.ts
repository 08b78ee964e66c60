import type { Command } from 'commander';
import { applyCluster, type ClusterPlan, planCluster } from '../database/cluster/distribute';
import { openDatabase } from '../database/open-database';
import { readSchemaState } from '../database/schema-state';
import { MONTHLY_TABLES } from '../modules/emails/retention/months';
import { CliError, fields, type Report, table } from './session/output';
import { type CliSession, numberUpTo } from './session/cli-session';

interface ClusterOptions {
  readonly shards: number;
}

/** As many as Citus makes by itself; they bound the number of nodes. */
const SHARDS = 32;
const MAX_SHARDS = 1_024;

/** `waybill cluster …` */
export function addClusterCommands(program: Command, session: CliSession): void {
  const cluster = program.command('cluster').description('spread the large tables over several nodes, by organization');
  const add = (name: string, description: string, run: (options: ClusterOptions) => Promise<void>) =>
    cluster
      .command(name)
      .description(description)
      .option('--shards <number>', 'parts of each table; a node has one or more', numberUpTo(MAX_SHARDS), SHARDS)
      .action(run);
  add('plan', 'print what would be done, and what hinders it', (options) => plan(session, options));
  add('apply', 'do it; all processes of the service must be stopped', (options) => apply(session, options));
}

async function plan(session: CliSession, { shards }: ClusterOptions): Promise<void> {
  await withDatabase(session, async (url) => {
    const found = await planCluster(url, { tables: MONTHLY_TABLES, shards });
    if (found.state.extension === undefined) throw new CliError('unhealthy', found.hindrances.join('. '));
    session.output.result(reportOf(found));
  });
}

async function apply(session: CliSession, { shards }: ClusterOptions): Promise<void> {
  const { output } = session;
  await withDatabase(session, async (url) => {
    const steps = await applyCluster(url, { tables: MONTHLY_TABLES, shards }, (message) => output.note(message));
    const { state } = await planCluster(url, { tables: MONTHLY_TABLES, shards });
    output.result({
      json: { steps, tables: state.tables },
      text: `${steps.length} statements.\n\n${tablesOf(state.tables)}`,
    });
  });
}

/** A database of DATABASE_URL whose schema is up to date. */
async function withDatabase(session: CliSession, work: (url: string) => Promise<void>): Promise<void> {
  const database = await openDatabase(session.config(), { migrate: false, log: () => undefined, waitSeconds: 0 });
  try {
    const { isUsable, sentence } = await readSchemaState(database.url);
    if (!isUsable) throw new CliError('unhealthy', `Nothing can be done: ${sentence}`);
    await work(database.directUrl);
  } finally {
    await database.stop();
  }
}

function reportOf({ state, hindrances, steps }: ClusterPlan): Report {
  const { extension, nodes, sessions, tables } = state;
  const facts = { citus: extension, nodes, 'open sessions of the service': sessions };
  const commands = steps.map(({ sql, why }) => `-- ${why}\n${sql};`);
  const hinders = hindrances.map((hindrance) => `Hinders it: ${hindrance}.`);
  return {
    json: { extension, nodes, sessions, tables, hindrances, steps },
    text: [fields(facts), tablesOf(tables), ...hinders, commands.join('\n')].join('\n\n'),
  };
}

function tablesOf(tables: ClusterPlan['state']['tables']): string {
  return table(tables.map(({ table: name, distributed, bytes }) => ({ table: name, distributed, bytes })));
}
