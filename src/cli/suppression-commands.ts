import { type Command, Option } from 'commander';
import { OrganizationsService } from '../auth/organizations.service';
import { validateDto } from '../common/http/validate-dto';
import { addressKey } from '../common/mail-address';
import { type Mode, MODES } from '../common/tenant';
import { ListSuppressionsQuery, SuppressionNotesDto } from '../modules/suppressions/dto/suppression.dto';
import { toAddress, toSuppressionDto } from '../modules/suppressions/dto/suppression.mapper';
import { SuppressionListService } from '../modules/suppressions/suppression-list.service';
import { SUPPRESSION_REASONS, type SuppressionReason } from '../modules/suppressions/suppressions.service';
import { type CliSession, parseId, type Services } from './session/cli-session';
import { fields, type Report, table } from './session/output';

interface ListOptions {
  readonly mode: Mode;
  readonly reason?: string;
  readonly email?: string;
  readonly limit?: string;
  readonly offset?: string;
}

interface AddOptions {
  readonly mode: Mode;
  readonly reason: SuppressionReason;
  readonly notes?: string;
}

/** `waybill suppression …` */
export function addSuppressionCommands(program: Command, session: CliSession): void {
  const group = program.command('suppression').description('addresses that are not sent to');
  command(group, 'list', 'list the entries in force, newest first')
    .option('--reason <reason>', `one of ${SUPPRESSION_REASONS.join(', ')}`)
    .option('--email <address>', 'the entries of one address')
    .option('--limit <number>', '1 to 100; 50 if left out')
    .option('--offset <number>', 'how many to skip')
    .action((organizationId: string, options: ListOptions) =>
      session.run((services) => list(services, organizationId, options)),
    );
  command(group, 'add', 'put an address on the list')
    .argument('<address>')
    .addOption(new Option('--reason <reason>').choices(SUPPRESSION_REASONS).default('blocklist'))
    .option('--notes <text>', 'at most 500 characters; the organization sees them')
    .action((organizationId: string, address: string, options: AddOptions) =>
      session.run((services) => add(services, organizationId, address, options)),
    );
  command(group, 'remove', 'take an address off the list, whatever the reason')
    .argument('<address>')
    .action((organizationId: string, address: string, { mode }: { mode: Mode }) =>
      session.run((services) => remove(services, { organizationId, mode }, address)),
    );
}

function command(group: Command, name: string, description: string): Command {
  return group
    .command(name)
    .description(description)
    .argument('<organization id>', '', parseId)
    .addOption(new Option('--mode <mode>').choices(MODES).default('live'));
}

async function list(services: Services, organizationId: string, { mode, ...given }: ListOptions): Promise<Report> {
  await services.get(OrganizationsService).get(organizationId);
  // The same rules, and the same words, as for a request.
  const { limit, offset, reason, email } = validateDto(ListSuppressionsQuery, given);
  const key = email === undefined ? undefined : addressKey(toAddress(email));
  const filter = { limit, offset, reason, key };
  const [entries] = await services.get(SuppressionListService).page({ organizationId, mode }, filter);
  const rows = entries.map(toSuppressionDto);
  return { json: rows, text: table(rows.map((row) => ({ ...row }))) };
}

async function add(
  services: Services,
  organizationId: string,
  address: string,
  { mode, reason, notes }: AddOptions,
): Promise<Report> {
  await services.get(OrganizationsService).get(organizationId);
  const entry = { email: toAddress(address), reason, ...validateDto(SuppressionNotesDto, { notes }) };
  const shown = toSuppressionDto(await services.get(SuppressionListService).add({ organizationId, mode }, entry));
  return { json: shown, text: fields({ ...shown }) };
}

async function remove(
  services: Services,
  owner: { organizationId: string; mode: Mode },
  address: string,
): Promise<Report> {
  await services.get(OrganizationsService).get(owner.organizationId);
  const email = toAddress(address);
  const reasons = await services.get(SuppressionListService).removeByOperator(owner, email);
  const shown = { email, removed: true, reasons };
  return { json: shown, text: fields(shown) };
}
