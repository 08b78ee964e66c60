import type { Command } from 'commander';
import { OrganizationsService } from '../auth/organizations/organizations.service';
import { validateDto } from '../common/http/dto/validate-dto';
import { AuditService } from '../audit/audit.service';
import { ListAuditEntriesQuery, toAuditEntryDto, toAuditFilter } from '../audit/dto/audit-entry.dto';
import { type CliSession, parseId, type Services } from './session/cli-session';
import { type Report, table } from './session/output';

interface ListOptions {
  readonly org: string;
  readonly action?: string;
  readonly from?: string;
  readonly to?: string;
  readonly limit?: string;
  readonly cursor?: string;
}

/** `waybill audit …` */
export function addAuditCommands(group: Command, session: CliSession): void {
  group
    .command('list')
    .description('list changes in an organization, newest first')
    .requiredOption('--org <id>', 'the organization', parseId)
    .option('--action <action>', 'like api_key.revoked')
    .option('--from <timestamp>', 'at or after; ISO 8601 with an offset, or a date')
    .option('--to <timestamp>', 'before')
    .option('--limit <number>', '1 to 100; 50 if left out')
    .option('--cursor <id>', 'the last entry of the previous page', parseId)
    .action((options: ListOptions) => session.run((services) => list(services, options)));
}

async function list(services: Services, { org, ...given }: ListOptions): Promise<Report> {
  await services.get(OrganizationsService).get(org);
  // The same rules, and the same words, as for a request.
  const query = validateDto(ListAuditEntriesQuery, given);
  const reader = { organizationId: org, mode: 'live' } as const;
  const page = { limit: query.limit, after: query.cursor };
  const { entries } = await services.get(AuditService).list(reader, toAuditFilter(query), page);
  const rows = entries.map(toAuditEntryDto);
  return { json: rows, text: table(rows.map((row) => ({ ...row }))) };
}
