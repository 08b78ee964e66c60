import { type Command, Option } from 'commander';
import { ConsoleLinksService } from '../auth/console-links.service';
import { OrganizationsService } from '../auth/organizations.service';
import { type Mode, MODES } from '../common/tenant';
import { AppConfig } from '../config/config';
import { CliError } from './session/cli-error';
import { type CliSession, parseId, type Services } from './session/cli-session';
import { fields, type Report } from './session/output';

interface LinkOptions {
  readonly org?: string;
  readonly operator?: boolean;
  readonly mode: Mode;
}

/** `waybill console …` */
export function addConsoleCommands(program: Command, session: CliSession): void {
  program
    .command('console')
    .description('the browser app')
    .command('link')
    .description('make a link that signs in to the console, with every scope; it works once, for 15 minutes')
    .option('--org <id>', 'for the pages of an organization', parseId)
    .option('--operator', "for the operator's pages")
    .addOption(new Option('--mode <mode>', 'whose mail it shows').choices(MODES).default('live'))
    .action((options: LinkOptions) => session.run((services) => makeLink(services, options)));
}

async function makeLink(services: Services, { org, operator, mode }: LinkOptions): Promise<Report> {
  if ((org === undefined) === (operator === undefined)) {
    throw new CliError('invalid_request', 'Either --org <id> or --operator is needed');
  }
  if (org !== undefined) await services.get(OrganizationsService).get(org);
  const target = org === undefined ? 'operator' : { organizationId: org, mode };
  const { path, expiresAt } = await services.get(ConsoleLinksService).make(target);
  const shown = { url: services.get(AppConfig).http.publicUrl + path, expiresAt };
  return { json: shown, text: fields(shown) };
}
