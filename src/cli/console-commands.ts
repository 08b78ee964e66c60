import { type Command, Option } from 'commander';
import { ConsoleLinksService } from '../auth/console-sessions/console-links.service';
import { OrganizationsService } from '../auth/organizations/organizations.service';
import { type Mode, MODES } from '../common/tenant';
import { AppConfig } from '../config/config';
import { CliError, fields, type Report } from './session/output';
import { type CliSession, parseId, type Services } from './session/cli-session';

interface LinkOptions {
  readonly org?: string;
  readonly operator?: boolean;
  readonly mode: Mode;
}

/** `waybill console …` */
export function addConsoleCommands(group: Command, session: CliSession): void {
  group
    .command('link')
    .description('create a link that signs in to the console with every scope; it works once, within 15 minutes')
    .option('--org <id>', 'for the pages of an organization, of the first one when left out', parseId)
    .option('--operator', "for the operator's pages")
    .addOption(new Option('--mode <mode>', 'whose mail it shows').choices(MODES).default('live'))
    .action((options: LinkOptions) => session.run((services) => makeLink(services, options)));
}

async function makeLink(services: Services, { org, operator, mode }: LinkOptions): Promise<Report> {
  if (org !== undefined && operator) throw new CliError('invalid_request', 'Give --org <id> or --operator, not both');
  const target = operator ? 'operator' : { organizationId: await organizationOf(services, org), mode };
  const { path, expiresAt } = await services.get(ConsoleLinksService).create(target);
  const shown = { url: services.get(AppConfig).http.publicUrl + path, expiresAt };
  return { json: shown, text: fields(shown) };
}

/** Without an id the first one, as in the link that the first start prints. */
async function organizationOf(services: Services, id: string | undefined): Promise<string> {
  const organizations = services.get(OrganizationsService);
  if (id !== undefined) return (await organizations.get(id)).id;
  const [first] = await organizations.list();
  if (!first) {
    throw new CliError(
      'invalid_request',
      'There is no organization yet: `waybill org create <name>`, or give --operator',
    );
  }
  return first.id;
}
