import type { Command } from 'commander';
import { AppError } from '../common/errors/app-error';
import { Database } from '../database/pool/database.service';
import { type CliSession, numberUpTo } from './session/cli-session';
import { CliError, type Report, table } from './session/output';

/** `waybill connections …` */
export function addConnectionCommands(connections: Command, session: CliSession): void {
  connections
    .command('list')
    .description('list them, those with the oldest transactions first')
    .action(() =>
      session.run(async (services) => {
        const found = await services.get(Database).activity();
        return { json: found, text: table(found.map((connection) => ({ ...connection }))) };
      }),
    );
  connections
    .command('end')
    .description('end one, and roll its transaction back; a process of the service connects again by itself')
    .argument('<pid>', 'its process id', numberUpTo(MAX_PID))
    .action((pid: number) => session.run((services) => endConnection(services.get(Database), pid)));
}

/** The largest process id of Linux. */
const MAX_PID = 2 ** 22;

async function endConnection(database: Database, pid: number): Promise<Report> {
  const isEnded = await database.endConnection(pid).catch((error: Error) => {
    if (error instanceof AppError) throw error;
    throw new CliError('insufficient_permissions', `The connection is not ended: ${error.message}`);
  });
  if (!isEnded) throw new CliError('resource_not_found', `No connection to this database has the process id ${pid}`);
  return { json: { pid }, text: `The connection of process ${pid} is ended.` };
}
