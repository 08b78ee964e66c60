import type { Command } from 'commander';
import type { OrganizationStatus } from '../auth/organizations/organization.entity';
import { OPERATOR } from '../audit/audit.service';
import { OrganizationsService } from '../auth/organizations/organizations.service';
import { MAX_MONTHLY } from '../modules/operator/dto/operator.dto';
import { type CliSession, numberUpTo, parseId, parseSwitch, type Services } from './session/cli-session';
import { fields, type Report, table } from './session/output';

/** `waybill org …` */
export function addOrganizationCommands(group: Command, session: CliSession): void {
  group
    .command('create')
    .description('make an organization')
    .argument('<name>')
    .action((name: string) => session.run((services) => create(services, name), { create: true }));
  group
    .command('list')
    .description('list every organization')
    .action(() => session.run(list));
  group
    .command('suspend')
    .description('refuse its keys from now on; mail already accepted is still delivered')
    .argument('<id>', '', parseId)
    .action((id: string) => session.run((services) => setStatus(services, id, 'suspended')));
  group
    .command('resume')
    .description('end a suspension')
    .argument('<id>', '', parseId)
    .action((id: string) => session.run((services) => setStatus(services, id, 'active')));
  addSettingCommands(group, session);
}

function addSettingCommands(group: Command, session: CliSession): void {
  group
    .command('weight')
    .description('set its share of the deliveries relative to other organizations: 1 to 100, 1 unless set')
    .argument('<id>', '', parseId)
    .argument('<weight>', '', Number)
    .action((id: string, weight: number) => session.run((services) => setWeight(services, id, weight)));
  group
    .command('limit')
    .description('limit the recipients of its live mail in a month (UTC); none: no limit')
    .argument('<id>', '', parseId)
    .argument('<recipients>', '', parseLimit)
    .action((id: string, recipients: number | null) => session.run((services) => setLimit(services, id, recipients)));
  group
    .command('tracking')
    .description('show or change the default tracking of mail')
    .argument('<id>', '', parseId)
    .option('--opens <on|off>', 'opens of the html part, by a pixel', parseSwitch)
    .option('--clicks <on|off>', 'clicks, by links through this service', parseSwitch)
    .action((id: string, wanted: Switches) => session.run((services) => track(services, id, wanted)));
}

interface Switches {
  readonly opens?: boolean;
  readonly clicks?: boolean;
}

async function create(services: Services, name: string): Promise<Report> {
  const { id, name: given } = await services.get(OrganizationsService).create(name);
  return { json: { id, name: given }, text: fields({ id, name: given }) };
}

async function list(services: Services): Promise<Report> {
  const organizations = await services.get(OrganizationsService).list();
  const rows = organizations.map(({ id, name, status, createdAt }) => ({ id, name, status, createdAt }));
  return { json: rows, text: table(rows) };
}

async function setStatus(services: Services, id: string, status: OrganizationStatus): Promise<Report> {
  const organizations = services.get(OrganizationsService);
  await organizations.setStatus(id, status);
  const { name } = await organizations.get(id);
  return { json: { id, name, status }, text: fields({ id, name, status }) };
}

async function setWeight(services: Services, id: string, weight: number): Promise<Report> {
  const organizations = services.get(OrganizationsService);
  await organizations.setWeight(id, weight);
  const { name } = await organizations.get(id);
  return { json: { id, name, weight }, text: fields({ id, name, weight }) };
}

async function setLimit(services: Services, id: string, monthlyRecipients: number | null): Promise<Report> {
  const organizations = services.get(OrganizationsService);
  await organizations.update(id, { monthlyRecipients }, OPERATOR);
  const { name } = await organizations.get(id);
  return { json: { id, name, monthlyRecipients }, text: fields({ id, name, monthlyRecipients }) };
}

const parseRecipients = numberUpTo(MAX_MONTHLY);

/** `none` takes the limit away. */
function parseLimit(text: string): number | null {
  return text === 'none' ? null : parseRecipients(text);
}

async function track(services: Services, id: string, { opens, clicks }: Switches): Promise<Report> {
  const organizations = services.get(OrganizationsService);
  const changes = {
    ...(opens !== undefined && { trackOpens: opens }),
    ...(clicks !== undefined && { trackClicks: clicks }),
  };
  if (Object.keys(changes).length > 0) await organizations.setTracking(id, changes);
  const { name, trackOpens, trackClicks } = await organizations.get(id);
  return {
    json: { id, name, trackOpens, trackClicks },
    text: fields({ id, name, opens: onOrOff(trackOpens), clicks: onOrOff(trackClicks) }),
  };
}

function onOrOff(value: boolean): string {
  return value ? 'on' : 'off';
}
