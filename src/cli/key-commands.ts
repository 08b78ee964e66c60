import { type Command, Option } from 'commander';
import { ApiKeysService } from '../auth/keys/api-keys.service';
import { CreateApiKeyDto, toApiKeyDto, toNewApiKey } from '../auth/keys/dto/api-key.dto';
import { OrganizationsService } from '../auth/organizations/organizations.service';
import { ALL_OPERATOR_SCOPES, ALL_SCOPES, type OperatorScope } from '../common/http/scopes';
import { validateDto } from '../common/http/dto/validate-dto';
import { MODES } from '../common/tenant';
import { type CliSession, parseId, type Services } from './session/cli-session';
import { CliError, fields, type Report, table } from './session/output';
import type { OperatorKey } from '../auth/keys/api-key.entity';
import { OperatorKeysService } from '../auth/keys/operator-keys.service';
import { parseTimestamp } from '../common/http/dto/timestamps';

interface ApiKeyOptions {
  readonly org: string;
  readonly mode: string;
  readonly scopes: string;
  readonly domain?: string;
  readonly expires?: string;
  readonly name: string;
}

/** `waybill key …` */
export function addKeyCommands(group: Command, session: CliSession): void {
  group
    .command('create')
    .description('create an API key; it is shown only once')
    .requiredOption('--org <id>', 'the organization', parseId)
    .addOption(new Option('--mode <mode>').choices(MODES).makeOptionMandatory())
    .requiredOption('--scopes <scopes>', `all, or a comma list of ${ALL_SCOPES.join(', ')}`)
    .option('--domain <id>', 'bind it to one domain', parseId)
    .option('--expires <timestamp>', 'ISO 8601 with an offset, or a date')
    .option('--name <name>', 'what lists show', 'command line')
    .action((options: ApiKeyOptions) => session.run((services) => createApiKey(services, options)));
  group
    .command('list')
    .description('list the API keys of an organization')
    .requiredOption('--org <id>', 'the organization', parseId)
    .action(({ org }: { org: string }) => session.run((services) => listApiKeys(services, org)));
  group
    .command('revoke')
    .description('revoke an API key; takes effect everywhere within 5 seconds')
    .argument('<id>', '', parseId)
    .action((id: string) => session.run((services) => revokeApiKey(services, id)));
}

async function createApiKey(services: Services, { org, ...given }: ApiKeyOptions): Promise<Report> {
  await services.get(OrganizationsService).get(org);
  // The same rules, and the same words, as for a request.
  const body = validateDto(CreateApiKeyDto, {
    name: given.name,
    mode: given.mode,
    scopes: parseScopes(given.scopes),
    ...(given.expires !== undefined && { expiresAt: given.expires }),
    ...(given.domain !== undefined && { domainId: given.domain }),
  });
  const created = await services.get(ApiKeysService).create(org, toNewApiKey(body));
  const shown = { ...toApiKeyDto(created), key: created.key };
  return { json: shown, text: fields(shown) };
}

async function listApiKeys(services: Services, organizationId: string): Promise<Report> {
  await services.get(OrganizationsService).get(organizationId);
  const keys = (await services.get(ApiKeysService).list(organizationId)).map(toApiKeyDto);
  return { json: keys, text: table(keys.map((key) => ({ ...key }))) };
}

async function revokeApiKey(services: Services, id: string): Promise<Report> {
  await services.get(ApiKeysService).revokeAnywhere(id);
  return { json: { id, revoked: true }, text: fields({ id, revoked: true }) };
}

function parseScopes(text: string): string[] {
  if (text === 'all') return [...ALL_SCOPES];
  return text.split(',').map((scope) => scope.trim());
}

interface OperatorKeyOptions {
  readonly name: string;
  readonly scopes: string;
  readonly expires?: string;
}

const MAX_NAME_LENGTH = 100;

/** `waybill operator-key …` */
export function addOperatorKeyCommands(group: Command, session: CliSession): void {
  group
    .command('create')
    .description('create an operator key; it is shown only once')
    .requiredOption('--name <name>', 'what lists show')
    .option('--scopes <scopes>', `a comma list of ${ALL_OPERATOR_SCOPES.join(', ')}`, ALL_OPERATOR_SCOPES.join(','))
    .option('--expires <timestamp>', 'ISO 8601 with an offset, or a date')
    .action((options: OperatorKeyOptions) => session.run((services) => createOperatorKey(services, options)));
  group
    .command('list')
    .description('list the operator keys, newest first')
    .action(() => session.run(listOperatorKeys));
  group
    .command('revoke')
    .description('revoke an operator key; takes effect everywhere within 5 seconds')
    .argument('<id>', '', parseId)
    .action((id: string) => session.run((services) => revokeOperatorKey(services, id)));
}

async function createOperatorKey(services: Services, options: OperatorKeyOptions): Promise<Report> {
  const name = options.name.trim();
  if (name.length === 0 || name.length > MAX_NAME_LENGTH) {
    throw new CliError('invalid_request', `--name takes 1 to ${MAX_NAME_LENGTH} characters`);
  }
  const wanted = { name, scopes: parseOperatorScopes(options.scopes), expiresAt: parseExpiry(options.expires) };
  const created = await services.get(OperatorKeysService).create(wanted);
  const shown = { ...toOperatorKeyRow(created), key: created.key };
  return { json: shown, text: fields(shown) };
}

async function listOperatorKeys(services: Services): Promise<Report> {
  const rows = (await services.get(OperatorKeysService).list()).map(toOperatorKeyRow);
  return { json: rows, text: table(rows) };
}

async function revokeOperatorKey(services: Services, id: string): Promise<Report> {
  await services.get(OperatorKeysService).revoke(id);
  return { json: { id, revoked: true }, text: fields({ id, revoked: true }) };
}

function toOperatorKeyRow({ id, name, scopes, prefix, createdAt, expiresAt, lastUsedAt, revokedAt }: OperatorKey) {
  return {
    ...{ id, name, scopes, prefix, createdAt },
    ...(expiresAt && { expiresAt }),
    ...(lastUsedAt && { lastUsedAt }),
    ...(revokedAt && { revokedAt }),
  };
}

/** @throws CliError */
function parseOperatorScopes(text: string): OperatorScope[] {
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
