import { type Command, InvalidArgumentError } from 'commander';
import { Clock, DAY, HOUR } from '../common/clock';
import { parseTimestamp } from '../common/http/dto/timestamps';
import { StatsCheckService } from '../modules/emails/outcomes/stats-check.service';
import { CliError, fields, type Output, type Report, table } from './session/output';
import { assertUsableSchema, type CliSession, numberUpTo, parseId, type Services } from './session/cli-session';
import { applyCluster, type ClusterPlan, planCluster } from '../database/cluster/distribute';
import { MONTHLY_TABLES } from '../modules/emails/retention/months';

/** `waybill migrate` */
export function addMigrateCommand(command: Command, session: CliSession): void {
  command.action(() => applyMigrations(session));
}

async function applyMigrations(session: CliSession): Promise<void> {
  const { output } = session;
  const database = await session.open(session.config({}, true), {
    migrate: true,
    log: (message) => output.note(message),
  });
  try {
    const { sentence } = await assertUsableSchema(database.url);
    const { applied } = database;
    const text = applied.length > 0 ? applied.join('\n') : `${sentence.charAt(0).toUpperCase()}${sentence.slice(1)}.`;
    output.result({ json: { applied }, text });
  } finally {
    await database.stop();
  }
}

const MAX_DAYS = 31;

interface VerifyOptions {
  readonly org?: string;
  readonly from?: Date;
  readonly to?: Date;
}

/** `waybill stats …` */
export function addStatsCommands(group: Command, session: CliSession): void {
  group
    .command('verify')
    .description('check the hourly counters against the events')
    .option('--org <id>', 'of one organization (default: all)', parseId)
    .option('--from <timestamp>', 'a UTC hour (default: the beginning of yesterday)', parseHour)
    .option('--to <timestamp>', 'a UTC hour (default: the current one)', parseHour)
    .action((options: VerifyOptions) => session.run((services) => verify(services, session.output, options)));
}

/** Differing counters are an error, so that a script notices; people see them all the same. */
async function verify(services: Services, output: Output, { org, ...range }: VerifyOptions): Promise<Report> {
  const period = periodOf(range, services.get(Clock).now());
  const { compared, unsettled, drifts } = await services.get(StatsCheckService).check(period, org);
  const shown = { ...period, compared, unsettled, drift: drifts.length };
  const report = { json: { ...shown, drifts }, text: fields(shown) };
  if (drifts.length === 0) return report;
  if (!output.json) output.result({ ...report, text: table(drifts.map((drift) => ({ ...drift }))) });
  throw new CliError('unhealthy', `${drifts.length} counters differ from the events`, report.json);
}

function periodOf({ from, to }: VerifyOptions, now: Date) {
  const yesterday = new Date((Math.floor(now.getTime() / DAY) - 1) * DAY);
  const period = { from: from ?? yesterday, to: to ?? new Date(Math.floor(now.getTime() / HOUR) * HOUR) };
  const length = period.to.getTime() - period.from.getTime();
  if (length <= 0) throw new CliError('invalid_request', '--to must be after --from');
  if (length > MAX_DAYS * DAY) throw new CliError('invalid_request', `A check spans at most ${MAX_DAYS} days`);
  return period;
}

function parseHour(text: string): Date {
  const time = parseTimestamp(text);
  if (!time || time.getTime() % HOUR !== 0) throw new InvalidArgumentError('It must be a full UTC hour or a date.');
  return time;
}

interface ClusterOptions {
  readonly shards: number;
}

/** As many as Citus makes by itself; they bound the number of nodes. */
const SHARDS = 32;
const MAX_SHARDS = 1_024;

/** `waybill cluster …` */
export function addClusterCommands(cluster: Command, session: CliSession): void {
  const add = (name: string, description: string, run: (options: ClusterOptions) => Promise<void>) =>
    cluster
      .command(name)
      .description(description)
      .option('--shards <number>', 'parts of each table; a node has one or more', numberUpTo(MAX_SHARDS), SHARDS)
      .action(run);
  add('plan', 'print the statements, and what prevents them', (options) => plan(session, options));
  add('apply', 'run them; all processes of the service must be stopped', (options) => apply(session, options));
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
  const database = await session.open(session.config(), {
    migrate: false,
    create: false,
    log: () => undefined,
    waitSeconds: 0,
  });
  try {
    await assertUsableSchema(database.url);
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
