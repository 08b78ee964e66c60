import type { Command } from 'commander';
import type { OperatorKey } from '../auth/auth.entity';
import { OperatorKeysService } from '../auth/operator-keys.service';
import { ALL_OPERATOR_SCOPES, type OperatorScope } from '../common/http/scopes';
import { parseTimestamp } from '../common/http/timestamps';
import { CliError, fields, type Report, table } from './session/output';
import { type CliSession, parseId, type Services } from './session/cli-session';

interface CreateOptions {
  readonly name: string;
  readonly scopes: string;
  readonly expires?: string;
}

const MAX_NAME_LENGTH = 100;

/** `waybill operator-key …` */
export function addOperatorKeyCommands(program: Command, session: CliSession): void {
  const group = program
    .command('operator-key')
    .description('keys for /operator/v1, which shows and changes everything');
  group
    .command('create')
    .description('make an operator key; it is shown this once')
    .requiredOption('--name <name>', 'what lists show')
    .option('--scopes <scopes>', `a comma list of ${ALL_OPERATOR_SCOPES.join(', ')}`, ALL_OPERATOR_SCOPES.join(','))
    .option('--expires <timestamp>', 'ISO 8601 with an offset, or a date')
    .action((options: CreateOptions) => session.run((services) => create(services, options)));
  group
    .command('list')
    .description('list the operator keys, newest first')
    .action(() => session.run(list));
  group
    .command('revoke')
    .description('end an operator key; takes effect everywhere within 5 seconds')
    .argument('<id>', '', parseId)
    .action((id: string) => session.run((services) => revoke(services, id)));
}

async function create(services: Services, options: CreateOptions): Promise<Report> {
  const name = options.name.trim();
  if (name.length === 0 || name.length > MAX_NAME_LENGTH) {
    throw new CliError('invalid_request', `--name takes 1 to ${MAX_NAME_LENGTH} characters`);
  }
  const wanted = { name, scopes: parseScopes(options.scopes), expiresAt: parseExpiry(options.expires) };
  const created = await services.get(OperatorKeysService).create(wanted);
  const shown = { ...toRow(created), key: created.key };
  return { json: shown, text: fields(shown) };
}

async function list(services: Services): Promise<Report> {
  const rows = (await services.get(OperatorKeysService).list()).map(toRow);
  return { json: rows, text: table(rows) };
}

async function revoke(services: Services, id: string): Promise<Report> {
  await services.get(OperatorKeysService).revoke(id);
  return { json: { id, revoked: true }, text: fields({ id, revoked: true }) };
}

function toRow({ id, name, scopes, prefix, createdAt, expiresAt, lastUsedAt, revokedAt }: OperatorKey) {
  return {
    ...{ id, name, scopes, prefix, createdAt },
    ...(expiresAt && { expiresAt }),
    ...(lastUsedAt && { lastUsedAt }),
    ...(revokedAt && { revokedAt }),
  };
}

/** @throws CliError */
function parseScopes(text: string): OperatorScope[] {
  const given = [...new Set(text.split(',').map((scope) => scope.trim()))];
  const known = given.flatMap((scope) => ALL_OPERATOR_SCOPES.filter((one) => one === scope));
  if (known.length === given.length) return known;
  throw new CliError('invalid_request', `--scopes takes a comma list of ${ALL_OPERATOR_SCOPES.join(', ')}`);
}

/** @throws CliError */
function parseExpiry(text: string | undefined): Date | undefined {
  if (text === undefined) return undefined;
  const time = parseTimestamp(text);
  if (!time) throw new CliError('invalid_request', '--expires takes an ISO 8601 timestamp with an offset, or a date');
  return time;
}
