import type { Command } from 'commander';
import type { CliSession } from './session/cli-session';

type Add = (command: Command, session: CliSession) => void;

interface Entry {
  readonly name: string;
  readonly alias?: string;
  readonly description: string;
  /** Adds arguments and subcommands. Loaded only for the command that is named: together they load most of the service. */
  readonly load: () => Promise<Add>;
}

/** In the order of the help. */
const COMMANDS: readonly Entry[] = [
  {
    name: 'org',
    description: 'organizations',
    load: async () => (await import('./organization-commands.js')).addOrganizationCommands,
  },
  { name: 'key', description: 'API keys', load: async () => (await import('./key-commands.js')).addKeyCommands },
  {
    name: 'operator-key',
    description: 'keys for /operator/v1, which shows and changes everything',
    load: async () => (await import('./key-commands.js')).addOperatorKeyCommands,
  },
  {
    name: 'console',
    description: 'the browser app',
    load: async () => (await import('./console-commands.js')).addConsoleCommands,
  },
  {
    name: 'keys',
    description: 'DKIM keys, webhook secrets and privacy requests, encrypted under the master key',
    load: async () => (await import('./re-encrypt-commands.js')).addReEncryptCommands,
  },
  {
    name: 'domain',
    description: 'sender domains',
    load: async () => (await import('./domain-commands.js')).addDomainCommands,
  },
  {
    name: 'inbound',
    description: 'mail to postmaster, abuse and other mailboxes of the mail host',
    load: async () => (await import('./inbound-commands.js')).addInboundCommands,
  },
  {
    name: 'inbound-route',
    description: 'addresses at which an organization receives mail',
    load: async () => (await import('./inbound-commands.js')).addInboundRouteCommands,
  },
  {
    name: 'stats',
    description: 'statistics',
    load: async () => (await import('./operations-commands.js')).addStatsCommands,
  },
  {
    name: 'suppression',
    alias: 'suppressions',
    description: 'addresses that get no mail',
    load: async () => (await import('./suppression-commands.js')).addSuppressionCommands,
  },
  {
    name: 'template',
    description: 'templates to send with',
    load: async () => (await import('./template-commands.js')).addTemplateCommands,
  },
  {
    name: 'audit',
    description: 'who changed what',
    load: async () => (await import('./audit-commands.js')).addAuditCommands,
  },
  {
    name: 'queue',
    description: 'deliveries that are still open',
    load: async () => (await import('./queue-commands.js')).addQueueCommands,
  },
  {
    name: 'destinations',
    description: 'groups of receiving domains that share mail exchangers',
    load: async () => (await import('./destination-commands.js')).addDestinationCommands,
  },
  {
    name: 'egress',
    description: 'source addresses of outgoing mail',
    load: async () => (await import('./destination-commands.js')).addEgressCommands,
  },
  {
    name: 'classify',
    description: 'show how a reply of a mail server is classified, and what follows from it',
    load: async () => (await import('./classify-command.js')).addClassifyCommand,
  },
  {
    name: 'migrate',
    description: 'bring the schema up to date; waits up to 60 s for the database',
    load: async () => (await import('./operations-commands.js')).addMigrateCommand,
  },
  {
    name: 'cluster',
    description: 'spread the large tables over several nodes, by organization',
    load: async () => (await import('./operations-commands.js')).addClusterCommands,
  },
  {
    name: 'connections',
    description: 'connections to the database',
    load: async () => (await import('./connection-commands.js')).addConnectionCommands,
  },
  {
    name: 'backup',
    description: 'write the database to a file, as of this moment; the service may run',
    load: async () => (await import('./backup/backup-commands.js')).addBackupCommand,
  },
  {
    name: 'restore',
    description: 'replace the database with a backup, in one transaction; the service must be stopped',
    load: async () => (await import('./backup/backup-commands.js')).addRestoreCommand,
  },
  {
    name: 'doctor',
    description: 'check the installation, or the mail of one domain; exit code 1 if something is wrong',
    load: async () => (await import('./doctor/doctor-command.js')).addDoctorCommand,
  },
];

/**
 * Adds all commands by their names.
 *
 * @param words of the command line: the commands among them get their arguments and subcommands
 * @param openSession called when there are any
 */
export async function addCommands(
  program: Command,
  words: readonly string[],
  openSession: () => Promise<CliSession>,
): Promise<void> {
  for (const { name, alias, description, load } of COMMANDS) {
    const command = program.command(name).description(description);
    if (alias !== undefined) command.alias(alias);
    const isNamed = words.includes(name) || (alias !== undefined && words.includes(alias));
    if (isNamed) (await load())(command, await openSession());
  }
}
