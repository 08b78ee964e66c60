import { type Command, Option } from 'commander';
import { InboundService, PUBLIC_MAILBOXES, type PublicMailbox } from '../modules/inbound/inbound.service';
import { type CliSession, numberUpTo, parseId, type Services } from './session/cli-session';
import { type Report, table } from './session/output';

const MAX_LISTED = 1_000;

/** `waybill inbound …`: what people wrote to the operator's mailboxes. */
export function addInboundCommands(program: Command, session: CliSession): void {
  const group = program.command('inbound').description(`mail to ${PUBLIC_MAILBOXES.join(', ')} at the mail host`);
  group
    .command('list')
    .description('list the messages of a mailbox, newest first')
    .addOption(new Option('--mailbox <name>').choices(PUBLIC_MAILBOXES).default('postmaster'))
    .option('--limit <number>', `1 to ${MAX_LISTED}`, numberUpTo(MAX_LISTED), 50)
    .action(({ mailbox, limit }: { mailbox: PublicMailbox; limit: number }) =>
      session.run(async (services) => {
        const rows = await services.get(InboundService).listPublicMail(mailbox, limit);
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
  const { raw, ...mail } = await services.get(InboundService).readPublicMail(id);
  const text = raw.toString('utf8').replaceAll('\r\n', '\n');
  return { json: { ...mail, raw: raw.toString('base64') }, text: withoutControls(text) };
}

/** A terminal would obey them. */
function withoutControls(text: string): string {
  return text.replace(/[^\P{Cc}\n\t]/gu, '?');
}
