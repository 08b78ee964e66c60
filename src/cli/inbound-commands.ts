import { type Command, Option } from 'commander';
import { OPERATOR } from '../audit/audit.service';
import { OrganizationsService } from '../auth/organizations/organizations.service';
import { isUuid } from '../common/ids';
import { toInboundRouteDto } from '../modules/inbound-mail/routes/dto/inbound-route.dto';
import { InboundRoutesService } from '../modules/inbound-mail/routes/inbound-routes.service';
import {
  InboundReportsService,
  PUBLIC_MAILBOXES,
  type PublicMailbox,
} from '../modules/inbound-reports/queue/inbound-reports.service';
import { CliError, fields, type Report, table } from './session/output';
import { type CliSession, numberUpTo, parseId, type Services } from './session/cli-session';

const MAX_LISTED = 1_000;

/** `waybill inbound …`: what people wrote to the operator's mailboxes. */
export function addInboundCommands(group: Command, session: CliSession): void {
  group
    .command('list')
    .description('list the messages of a mailbox, newest first')
    .addOption(new Option('--mailbox <name>').choices(PUBLIC_MAILBOXES).default('postmaster'))
    .option('--limit <number>', `1 to ${MAX_LISTED}`, numberUpTo(MAX_LISTED), 50)
    .action(({ mailbox, limit }: { mailbox: PublicMailbox; limit: number }) =>
      session.run(async (services) => {
        const rows = await services.get(InboundReportsService).listPublicMail(mailbox, limit);
        return { json: rows, text: table(rows.map((row) => ({ ...row }))) };
      }),
    );
  group
    .command('show')
    .description('show a message as it came')
    .argument('<id>', '', parseId)
    .action((id: string) => session.run((services) => show(services, id)));
}

async function show(services: Services, id: string): Promise<Report> {
  const { raw, ...mail } = await services.get(InboundReportsService).readPublicMail(id);
  const text = raw.toString('utf8').replaceAll('\r\n', '\n');
  return { json: { ...mail, raw: raw.toString('base64') }, text: withoutControls(text) };
}

/** A terminal would obey them. */
function withoutControls(text: string): string {
  return text.replace(/[^\P{Cc}\n\t]/gu, '?');
}

/** `waybill inbound-route …`: the addresses whose mail an organization takes. */
export function addInboundRouteCommands(group: Command, session: CliSession): void {
  command(group, 'list', 'list the routes by address, and what the organization keeps of the mail').action(
    (organizationId: string) => session.run((services) => list(services, organizationId)),
  );
  command(group, 'add', 'accept mail to an address, or to all addresses of a domain')
    .argument('<address>', 'support@in.example.com, or "*@in.example.com"')
    .option('--webhook <id>', 'the only webhook that receives the event', parseId)
    .action((organizationId: string, address: string, { webhook }: { webhook?: string }) =>
      session.run((services) => add(services, organizationId, address, webhook)),
    );
  command(group, 'remove', 'refuse its mail from now on; stored mail stays')
    .argument('<address or id>')
    .action((organizationId: string, addressOrId: string) =>
      session.run((services) => remove(services, organizationId, addressOrId)),
    );
}

function command(group: Command, name: string, description: string): Command {
  return group.command(name).description(description).argument('<organization id>', '', parseId);
}

async function list(services: Services, organizationId: string): Promise<Report> {
  await services.get(OrganizationsService).get(organizationId);
  const routes = services.get(InboundRoutesService);
  const [all, stored] = await Promise.all([routes.all(organizationId), routes.usage(organizationId)]);
  const rows = all.map(toInboundRouteDto);
  return {
    json: { routes: rows, stored },
    text: `${table(rows.map((row) => ({ ...row })))}\n\n${fields({ ...stored })}`,
  };
}

async function add(services: Services, organizationId: string, address: string, webhookId?: string): Promise<Report> {
  await services.get(OrganizationsService).get(organizationId);
  const author = { organizationId, actor: OPERATOR };
  const route = toInboundRouteDto(await services.get(InboundRoutesService).create(author, { address, webhookId }));
  return { json: route, text: fields({ ...route }) };
}

async function remove(services: Services, organizationId: string, addressOrId: string): Promise<Report> {
  await services.get(OrganizationsService).get(organizationId);
  const routes = services.get(InboundRoutesService);
  const wanted = addressOrId.toLowerCase();
  const found = (await routes.all(organizationId)).find(
    ({ id, address }) => (isUuid(wanted) ? id : address) === wanted,
  );
  if (!found) throw new CliError('resource_not_found', 'Inbound route not found');
  await routes.remove({ organizationId, actor: OPERATOR }, found.id);
  const shown = { id: found.id, address: found.address, deleted: true };
  return { json: shown, text: fields(shown) };
}
