import { type Command, InvalidArgumentError } from 'commander';
import type { Domain } from '../modules/domains/domain.entity';
import { RestrictedDomains } from '../modules/domains/restrictions/restricted-domains.service';
import { SuspicionChanges } from '../modules/domains/restrictions/suspicion-changes.service';
import { parseId } from './arguments';
import type { CliSession, Services } from './cli-session';
import type { Report } from './output';
import { fields, table } from './text';

const MAX_NOTE_CHARACTERS = 500;
const MAX_LISTED = 1_000;

/** `waybill domain pause-sending` and its like */
export function addSuspicionCommands(group: Command, session: CliSession): void {
  group
    .command('list-restricted')
    .description('list the domains of all organizations that are slowed or paused')
    .action(() => session.run(list));
  group
    .command('pause-sending')
    .description('accept and deliver no mail of a domain until its sending is resumed')
    .argument('<id>', '', parseId)
    .requiredOption('--reason <text>', 'why, for the audit log', parseNote)
    .action((id: string, { reason }: { reason: string }) =>
      session.run(async (services) => show(await services.get(SuspicionChanges).pauseByOperator(id, reason))),
    );
  group
    .command('resume-sending')
    .description('let a domain that is slowed or paused send as before')
    .argument('<id>', '', parseId)
    .action((id: string) =>
      session.run(async (services) => show(await services.get(SuspicionChanges).resumeByOperator(id))),
    );
}

async function list(services: Services): Promise<Report> {
  const rows = (await services.get(RestrictedDomains).list(undefined, MAX_LISTED)).map((domain) => ({
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
