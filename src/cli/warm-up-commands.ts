import type { Command } from 'commander';
import { WarmUpChanges } from '../modules/domains/restrictions/warm-up/warm-up-changes.service';
import { parseId } from './arguments';
import type { CliSession, Services } from './cli-session';
import type { Report } from './output';
import { fields } from './text';

const COMMANDS = [
  { name: 'resume-warming', change: 'resume', description: 'end the pause of a warm-up' },
  { name: 'mark-warmed', change: 'finish', description: 'let a domain send without the limits of a warm-up' },
  { name: 'restart-warming', change: 'restart', description: 'warm a domain up again, from the first day' },
] as const;

/** `waybill domain resume-warming` and its like */
export function addWarmUpCommands(group: Command, session: CliSession): void {
  for (const { name, change, description } of COMMANDS) {
    group
      .command(name)
      .description(description)
      .argument('<id>', '', parseId)
      .action((id: string) => session.run((services) => apply(services, id, change)));
  }
}

async function apply(services: Services, id: string, change: (typeof COMMANDS)[number]['change']): Promise<Report> {
  const domain = await services.get(WarmUpChanges).byOperator(id, change);
  const shown = { id: domain.id, domain: domain.domain, warming_status: domain.warmingStatus };
  return { json: shown, text: fields(shown) };
}
