import { type Command, InvalidArgumentError } from 'commander';
import type { Domain } from '../modules/domains/registry/domain.entity';
import { RestrictionsService } from '../modules/domains/restrictions/restrictions.service';
import { WarmUpChangesService } from '../modules/domains/restrictions/warm-up-changes.service';
import { type CliSession, parseId, type Services } from './session/cli-session';
import { fields, type Report, table } from './session/output';

const MAX_NOTE_CHARACTERS = 500;
const MAX_LISTED = 1_000;
const WARM_UP_COMMANDS = [
  { name: 'resume-warming', change: 'resume', description: 'end the pause of a warm-up' },
  { name: 'mark-warmed', change: 'finish', description: 'let a domain send without the limits of a warm-up' },
  { name: 'restart-warming', change: 'restart', description: 'warm a domain up again, from the first day' },
] as const;

/** `waybill domain pause-sending`, `waybill domain resume-warming` and the like: what limits a domain's sending. */
export function addRestrictionCommands(group: Command, session: CliSession): void {
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
      session.run(async (services) => show(await services.get(RestrictionsService).pauseByOperator(id, reason))),
    );
  group
    .command('resume-sending')
    .description('let a domain that is slowed or paused send as before')
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

async function list(services: Services): Promise<Report> {
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
