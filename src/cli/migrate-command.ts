import type { Command } from 'commander';
import { openDatabase } from '../database/open-database';
import type { CliSession } from './cli-session';

/** `waybill migrate` */
export function addMigrateCommand(program: Command, session: CliSession): void {
  program
    .command('migrate')
    .description('bring the schema up to date; waits up to 60 s for the database')
    .action(() => applyMigrations(session));
}

async function applyMigrations(session: CliSession): Promise<void> {
  const { output } = session;
  const database = await openDatabase(session.config(), {
    migrate: true,
    log: (message) => output.note(message),
  });
  await database.stop();
  const { applied } = database;
  const text = applied.length > 0 ? applied.join('\n') : 'The schema is up to date.';
  output.result({ json: { applied }, text });
}
