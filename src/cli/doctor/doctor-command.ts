import path from 'node:path';
import type { Command } from 'commander';
import { NodeDnsResolver } from '../../common/dns/node-dns-resolver';
import type { AppConfig } from '../../config/config';
import { findClusterFolder } from '../../database/embedded/cluster-location';
import { type CliSession, parseId, type Services } from '../session/cli-session';
import { CliError, table } from '../session/output';
import { checkLastBackup } from './last-backup';
import {
  type Check,
  checkCertificate,
  checkDisk,
  checkMigrations,
  checkNode,
  examine,
  type Finding,
  ok,
} from './checks';
import {
  checkBackfills,
  checkClock,
  checkConnections,
  checkDatabase,
  checkMasterKey,
  checkQueue,
  checkEgress,
  checkRowSecurity,
  checkSending,
  checkWorkers,
} from './database-checks';
import { diagnoseDomain, type DomainDoctorOptions } from './domain-doctor';
import { parseSmtpHost } from './egress';
import { examineProduction, stepOf } from './production-checks';

type DatabaseCheck = (services: Services, url: string) => Promise<Finding>;

/** These read tables. */
const NEED_MIGRATIONS: ReadonlySet<string> = new Set([
  'row-level security',
  'backfills',
  'master key',
  'queue',
  'workers',
  'sending',
  'egress',
]);

/** `waybill doctor`, `waybill doctor <domain>` */
export function addDoctorCommand(command: Command, session: CliSession): void {
  command
    .argument('[domain]', 'check its DNS records, and outgoing connections for its mail')
    .option('--org <id>', 'the organization, if several have the domain', parseId)
    .option(
      '--smtp-host <host[:port]>',
      'server to test outgoing connections with; default: the mail exchangers of the domain',
      parseSmtpHost,
    )
    .action((domain: string | undefined, options: DomainDoctorOptions) =>
      domain === undefined ? diagnose(session, options) : diagnoseDomain(session, domain, options),
    );
}

async function diagnose(session: CliSession, options: DomainDoctorOptions): Promise<void> {
  const checks = (await examineAll(session, options)).map(withStep);
  const problems = checks.filter(({ status }) => status === 'problem').map(({ name }) => name);
  const report = { healthy: problems.length === 0, checks };
  const rows = checks.map(({ name, status, message, see }) => ({
    check: name,
    status,
    finding: see === undefined ? message : `${message} (${see})`,
  }));
  // People see the whole table in any case; programs get one value, here or in the error.
  if (report.healthy || !session.output.json) session.output.result({ json: report, text: table(rows) });
  if (!report.healthy) throw new CliError('unhealthy', `Something is wrong: ${problems.join(', ')}`, report);
}

/** What is not well says where to read on. */
function withStep(check: Check): Check & { readonly see?: string } {
  const see = check.status === 'ok' ? undefined : stepOf(check.name);
  return see === undefined ? check : { ...check, see };
}

async function examineAll(session: CliSession, { smtpHost }: DomainDoctorOptions): Promise<Check[]> {
  const node = await examine('node', () => checkNode(process.versions.node));
  let config: AppConfig | undefined;
  const configuration = await examine('configuration', () => {
    config = session.config();
    return ok('valid');
  });
  if (!config) return [node, configuration];
  const configured = config;
  const { dataDir } = configured;
  const now = new Date();
  const certificate = await examine('certificate', () => checkCertificate(configured, now));
  const disk = await examine('disk', async () => checkDisk(await databaseFolder(dataDir)));
  const backup = await examine('backup', () => checkLastBackup(dataDir, now));
  const resolver = new NodeDnsResolver({ servers: config.delivery.dnsServers });
  const production = await examineProduction(config, resolver, smtpHost);
  const own = [node, configuration, certificate, disk, backup];
  return [...own, ...(await examineDatabase(session, config)), ...production];
}

async function examineDatabase(session: CliSession, config: AppConfig): Promise<Check[]> {
  const embedded = config.database.url === undefined;
  const databaseChecks: Record<string, DatabaseCheck> = {
    database: (services) => checkDatabase(services, embedded),
    migrations: (_, url) => checkMigrations(url),
    clock: checkClock,
    connections: checkConnections,
    'row-level security': checkRowSecurity,
    backfills: checkBackfills,
    'master key': checkMasterKey,
    queue: checkQueue,
    workers: checkWorkers,
    sending: checkSending,
    egress: checkEgress,
  };
  // A doctor changes nothing: no migrations, no new database.
  const options = {
    migrate: false,
    create: false,
    waitSeconds: 0,
    log: (message: string) => session.output.note(message),
  };
  const checks: Check[] = [];
  const opening = await examine('database', () =>
    session.withServices(config, options, async (services, url) => {
      for (const [name, check] of Object.entries(databaseChecks)) {
        const isUseless = NEED_MIGRATIONS.has(name) && checks.some(isFailedMigration);
        checks.push(
          isUseless ? skipped(name, 'needs the migrations') : await examine(name, () => check(services, url)),
        );
      }
      return ok('closed');
    }),
  );
  if (opening.status === 'ok') return checks;
  const missing = Object.keys(databaseChecks).filter((name) => !checks.some((done) => done.name === name));
  const others = missing.filter((name) => name !== 'database');
  return [...checks, opening, ...others.map((name) => skipped(name, 'needs the database'))];
}

function isFailedMigration({ name, status }: Check): boolean {
  return name === 'migrations' && status === 'problem';
}

function skipped(name: string, message: string): Check {
  return { name, status: 'skipped', message };
}

/** The embedded cluster may lie outside the data directory, on another file system. */
async function databaseFolder(dataDir: string): Promise<string> {
  return (await findClusterFolder(path.resolve(dataDir)).catch(() => undefined)) ?? dataDir;
}
