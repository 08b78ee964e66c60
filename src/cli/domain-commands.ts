import { type Command, InvalidArgumentError } from 'commander';
import { OrganizationsService } from '../auth/organizations/organizations.service';
import { DomainDetailsService } from '../modules/domains/domain-details.service';
import { DomainsService } from '../modules/domains/domains.service';
import type { Domain } from '../modules/domains/registry/domain.entity';
import { RestrictionsService } from '../modules/domains/restrictions/restrictions.service';
import { WarmUpChangesService } from '../modules/domains/restrictions/warm-up.service';
import { type CliSession, parseId, type Services } from './session/cli-session';
import { fields, type Report, table } from './session/output';

/** `waybill domain …` */
export function addDomainCommands(group: Command, session: CliSession): void {
  group
    .command('add')
    .description('register a domain and show the DNS records to publish')
    .argument('<organization id>', '', parseId)
    .argument('<domain>')
    .action((organizationId: string, name: string) => session.run((services) => add(services, organizationId, name)));
  group
    .command('mark-verified')
    .description('mark a domain as verified, without a DNS check')
    .argument('<organization id>', '', parseId)
    .argument('<domain or id>')
    .action((organizationId: string, nameOrId: string) =>
      session.run((services) => markVerified(services, organizationId, nameOrId)),
    );
  group
    .command('list')
    .description('list the domains of an organization')
    .argument('<organization id>', '', parseId)
    .action((organizationId: string) => session.run((services) => list(services, organizationId)));
  addRestrictionCommands(group, session);
}

async function add(services: Services, organizationId: string, name: string): Promise<Report> {
  await services.get(OrganizationsService).get(organizationId);
  const domain = await services.get(DomainsService).add(organizationId, name);
  const { records } = await services.get(DomainDetailsService).detailOf(domain);
  const shown = {
    id: domain.id,
    domain: domain.domain,
    verification_status: domain.verificationStatus,
    dkim_selector: domain.dkimSelector,
  };
  const wanted = records.map(({ record: { purpose, type, host, value } }) => ({ purpose, type, host, value }));
  // Without a delegated zone a new domain has one key, and its owner publishes it.
  const key = wanted.find(({ purpose, type }) => purpose === 'dkim' && type === 'TXT');
  return {
    json: { ...shown, dkim_record: key ? { host: key.host, value: key.value } : null, records: wanted },
    text: `${fields(shown)}\n\n${table(wanted)}`,
  };
}

async function markVerified(services: Services, organizationId: string, nameOrId: string): Promise<Report> {
  await services.get(OrganizationsService).get(organizationId);
  const domain = await services.get(DomainsService).markVerified(organizationId, nameOrId);
  const shown = { id: domain.id, domain: domain.domain, verification_status: domain.verificationStatus };
  return { json: shown, text: fields(shown) };
}

async function list(services: Services, organizationId: string): Promise<Report> {
  await services.get(OrganizationsService).get(organizationId);
  const rows = (await services.get(DomainsService).list(organizationId)).map(toRow);
  return { json: rows, text: table(rows) };
}

/** Named as in the API's Domain. */
function toRow(domain: Domain): Record<string, unknown> {
  return {
    id: domain.id,
    domain: domain.domain,
    verification_status: domain.verificationStatus,
    dkim_status: domain.dkimStatus,
    dkim_selector: domain.dkimSelector,
    warming_status: domain.warmingStatus,
    is_default: domain.isDefault,
    created_at: domain.createdAt,
  };
}

const MAX_NOTE_CHARACTERS = 500;
const MAX_LISTED = 1_000;
const WARM_UP_COMMANDS = [
  { name: 'resume-warming', change: 'resume', description: 'end the pause of a warm-up' },
  { name: 'mark-warmed', change: 'finish', description: 'mark a domain as warmed: no warm-up limits' },
  { name: 'restart-warming', change: 'restart', description: 'restart the warm-up of a domain at day 1' },
] as const;

/** `waybill domain pause-sending`, `waybill domain resume-warming` and the like: what limits a domain's sending. */
function addRestrictionCommands(group: Command, session: CliSession): void {
  group
    .command('list-restricted')
    .description('list the domains of all organizations that are slowed or paused')
    .action(() => session.run(listRestricted));
  group
    .command('pause-sending')
    .description('pause a domain: its mail is neither accepted nor delivered until its sending is resumed')
    .argument('<id>', '', parseId)
    .requiredOption('--reason <text>', 'the reason: shown to the organization, also by the API and webhooks', parseNote)
    .action((id: string, { reason }: { reason: string }) =>
      session.run(async (services) => show(await services.get(RestrictionsService).pauseByOperator(id, reason))),
    );
  group
    .command('resume-sending')
    .description('lift the restriction of a slowed or paused domain')
    .argument('<id>', '', parseId)
    .action((id: string) =>
      session.run(async (services) => show(await services.get(RestrictionsService).resumeByOperator(id))),
    );
  for (const { name, change, description } of WARM_UP_COMMANDS) {
    group
      .command(name)
      .description(description)
      .argument('<id>', '', parseId)
      .action((id: string) => session.run((services) => changeWarmUp(services, id, change)));
  }
}

async function listRestricted(services: Services): Promise<Report> {
  const rows = (await services.get(RestrictionsService).list(undefined, MAX_LISTED)).map((domain) => ({
    organization_id: domain.organizationId,
    ...describe(domain),
    since: domain.sending.since,
    note: domain.sending.note,
  }));
  return { json: rows, text: table(rows) };
}

function show(domain: Domain): Report {
  const shown = describe(domain);
  return { json: shown, text: fields(shown) };
}

function describe({ id, domain, sending }: Domain) {
  return { id, domain, sending_status: sending.status, sending_status_reason: sending.reason };
}

function parseNote(text: string): string {
  const note = text.trim();
  if (note !== '' && note.length <= MAX_NOTE_CHARACTERS) return note;
  throw new InvalidArgumentError(`It must have 1 to ${MAX_NOTE_CHARACTERS} characters.`);
}

async function changeWarmUp(
  services: Services,
  id: string,
  change: (typeof WARM_UP_COMMANDS)[number]['change'],
): Promise<Report> {
  const domain = await services.get(WarmUpChangesService).byOperator(id, change);
  const shown = { id: domain.id, domain: domain.domain, warming_status: domain.warmingStatus };
  return { json: shown, text: fields(shown) };
}
