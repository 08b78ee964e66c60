import { createReadStream } from 'node:fs';
import { type Command, Option } from 'commander';
import { OPERATOR } from '../audit/audit.service';
import { OrganizationsService } from '../auth/organizations/organizations.service';
import { validateDto } from '../common/http/dto/validate-dto';
import { addressKey } from '../common/mail-address';
import { type Mode, MODES } from '../common/tenant';
import { SAVE_AS_UTF8, textOf } from '../modules/suppressions/file-text';
import { ListSuppressionsQuery, SuppressionNotesDto } from '../modules/suppressions/dto/suppression.dto';
import { toAddress, toSuppressionDto } from '../modules/suppressions/dto/suppression.mapper';
import { SUPPRESSION_FORMS, type SuppressionForm } from '../modules/suppressions/suppression-forms';
import { MAX_IMPORT_BYTES, SuppressionImportService } from '../modules/suppressions/suppression-import.service';
import { SuppressionListService } from '../modules/suppressions/suppression-list.service';
import { SUPPRESSION_REASONS, type SuppressionReason } from '../modules/suppressions/suppressions.service';
import { CliError, fields, type Report, table } from './session/output';
import { type CliSession, parseId, type Services } from './session/cli-session';

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

interface ImportOptions {
  readonly mode: Mode;
  readonly from: SuppressionForm;
}

/** `waybill suppression …` */
export function addSuppressionCommands(group: Command, session: CliSession): void {
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
  command(group, 'import', 'import the list of another service; bounces and complaints keep their reason')
    .argument('<file>', 'CSV in UTF-8 or UTF-16, at most 10 MiB')
    .addOption(new Option('--from <service>').choices(SUPPRESSION_FORMS).makeOptionMandatory())
    .action((organizationId: string, file: string, options: ImportOptions) =>
      session.run((services) => importFile(services, organizationId, file, options)),
    );
  command(group, 'remove', 'remove an address from the list, whatever the reason')
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

async function importFile(
  services: Services,
  organizationId: string,
  file: string,
  { mode, from: form }: ImportOptions,
): Promise<Report> {
  await services.get(OrganizationsService).get(organizationId);
  const csv = await readText(file);
  const wanted = { owner: { organizationId, mode }, form, csv, actor: OPERATOR, keepReasons: true };
  const { refused, ...counts } = await services.get(SuppressionImportService).import(wanted);
  const lines = refused.length === 0 ? '' : `\n\n${table(refused.map((line) => ({ ...line })))}`;
  return { json: { ...counts, refused }, text: `${fields(counts)}${lines}` };
}

/** One byte more than may be read is enough to refuse it: the file may be a device without an end. */
async function readText(file: string): Promise<string> {
  const chunks: Buffer[] = [];
  let length = 0;
  try {
    for await (const chunk of createReadStream(file, { end: MAX_IMPORT_BYTES })) {
      chunks.push(chunk as Buffer);
      length += (chunk as Buffer).length;
    }
  } catch (error) {
    throw new CliError('invalid_request', `Cannot read ${file}: ${(error as Error).message}`);
  }
  return decode(file, Buffer.concat(chunks, length));
}

function decode(file: string, bytes: Buffer): string {
  // A character for each byte: the service refuses it as too large, whatever its encoding.
  if (bytes.length > MAX_IMPORT_BYTES) return bytes.toString('latin1');
  const text = textOf(bytes);
  if (text === undefined) throw new CliError('invalid_request', `${file} is not text in UTF-8. ${SAVE_AS_UTF8}`);
  return text;
}
