import { MIGRATIONS } from '../../database/migrations';
import { listPendingMigrations } from '../../database/migrate';
import { CliError } from '../cli-error';
import { type Finding, ok } from './check';

export async function checkMigrations(url: string): Promise<Finding> {
  return judgePending(await listPendingMigrations(url), MIGRATIONS.length);
}

/** @param known how many migrations this build has */
export function judgePending(pending: readonly string[], known: number): Finding {
  if (pending.length === 0) return ok('the schema is up to date', { pending });
  const message =
    pending.length === known
      ? 'the database is empty: run `waybill migrate`, or start the service once'
      : `the schema is older than this build: run \`waybill migrate\`, which applies ${pending.join(', ')}`;
  return { status: 'problem', message, details: { pending } };
}

/** @throws CliError with the sentence of the check */
export async function assertMigrated(url: string): Promise<void> {
  const { status, message, details } = await checkMigrations(url);
  if (status !== 'ok') throw new CliError('unhealthy', `Nothing can be looked at: ${message}`, details);
}
