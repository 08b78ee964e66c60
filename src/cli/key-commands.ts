import { type Command, Option } from 'commander';
import { ApiKeysService } from '../auth/api-keys.service';
import { CreateApiKeyDto, toApiKeyDto, toNewApiKey } from '../auth/dto/api-key.dto';
import { OrganizationsService } from '../auth/organizations.service';
import { ALL_SCOPES } from '../common/http/scopes';
import { validateDto } from '../common/http/validate-dto';
import { MODES } from '../common/tenant';
import { type CliSession, parseId, type Services } from './session/cli-session';
import { fields, type Report, table } from './session/output';

interface CreateOptions {
  readonly org: string;
  readonly mode: string;
  readonly scopes: string;
  readonly domain?: string;
  readonly expires?: string;
  readonly name: string;
}

/** `waybill key …` */
export function addKeyCommands(program: Command, session: CliSession): void {
  const group = program.command('key').description('API keys');
  group
    .command('create')
    .description('make an API key; it is shown this once')
    .requiredOption('--org <id>', 'the organization', parseId)
    .addOption(new Option('--mode <mode>').choices(MODES).makeOptionMandatory())
    .requiredOption('--scopes <scopes>', `all, or a comma list of ${ALL_SCOPES.join(', ')}`)
    .option('--domain <id>', 'bind it to one domain', parseId)
    .option('--expires <timestamp>', 'ISO 8601 with an offset, or a date')
    .option('--name <name>', 'what lists show', 'command line')
    .action((options: CreateOptions) => session.run((services) => create(services, options)));
  group
    .command('list')
    .description('list the API keys of an organization')
    .requiredOption('--org <id>', 'the organization', parseId)
    .action(({ org }: { org: string }) => session.run((services) => list(services, org)));
  group
    .command('revoke')
    .description('end an API key; takes effect everywhere within 5 seconds')
    .argument('<id>', '', parseId)
    .action((id: string) => session.run((services) => revoke(services, id)));
}

async function create(services: Services, { org, ...given }: CreateOptions): Promise<Report> {
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

async function list(services: Services, organizationId: string): Promise<Report> {
  await services.get(OrganizationsService).get(organizationId);
  const keys = (await services.get(ApiKeysService).list(organizationId)).map(toApiKeyDto);
  return { json: keys, text: table(keys.map((key) => ({ ...key }))) };
}

async function revoke(services: Services, id: string): Promise<Report> {
  await services.get(ApiKeysService).revokeAnywhere(id);
  return { json: { id, revoked: true }, text: fields({ id, revoked: true }) };
}

function parseScopes(text: string): string[] {
  if (text === 'all') return [...ALL_SCOPES];
  return text.split(',').map((scope) => scope.trim());
}
