import type { Command } from 'commander';
import { OPERATOR } from '../audit/audit.service';
import { OrganizationsService } from '../auth/organizations/organizations.service';
import { LIBRARY } from '../modules/templates/library';
import { TemplatesService } from '../modules/templates/templates.service';
import { CliError, type Report, table } from './session/output';
import { type CliSession, parseId, type Services } from './session/cli-session';

/** `waybill template …` */
export function addTemplateCommands(group: Command, session: CliSession): void {
  group
    .command('library')
    .description('list the templates that can be installed, with their variables')
    .action(() => session.output.result(library()));
  group
    .command('install')
    .description('install templates of the library in an organization; names that it has already are left unchanged')
    .argument('<organization id>', '', parseId)
    .argument('[names...]', 'all if left out')
    .action((organizationId: string, names: readonly string[]) =>
      session.run((services) => install(services, organizationId, names)),
    );
}

function library(): Report {
  const rows = LIBRARY.map(({ name, description, subject }) => ({ name, description, subject }));
  return { json: rows, text: table(rows) };
}

async function install(services: Services, organizationId: string, names: readonly string[]): Promise<Report> {
  await services.get(OrganizationsService).get(organizationId);
  const unknown = names.filter((name) => !LIBRARY.some((template) => template.name === name));
  if (unknown.length > 0) {
    throw new CliError('invalid_request', `The library has no ${unknown.join(', ')}; see waybill template library`);
  }
  const wanted = LIBRARY.filter(({ name }) => names.length === 0 || names.includes(name));
  const templates = services.get(TemplatesService);
  const there = await templates.existing(
    organizationId,
    wanted.map(({ name }) => name),
  );
  const rows: { name: string; installed: boolean }[] = [];
  for (const { name, subject, html, text } of wanted) {
    const installed = !there.includes(name);
    if (installed) await templates.create({ organizationId, actor: OPERATOR }, { name, subject, html, text });
    rows.push({ name, installed });
  }
  return { json: rows, text: table(rows) };
}
