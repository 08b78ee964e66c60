import type { Command } from 'commander';
import { OrganizationsService } from '../auth/organizations.service';
import type { Domain } from '../modules/domains/domain.entity';
import { DomainsService } from '../modules/domains/domains.service';
import { SigningKeysService } from '../modules/domains/signing-keys.service';
import { parseId } from './arguments';
import type { CliSession, Services } from './cli-session';
import { dkimRecord } from './dkim-record';
import type { Report } from './output';
import { fields, table } from './text';

/** `waybill domain …` */
export function addDomainCommands(program: Command, session: CliSession): void {
  const group = program.command('domain').description('sender domains');
  group
    .command('add')
    .description('register a domain and show its DKIM record')
    .argument('<organization id>', '', parseId)
    .argument('<domain>')
    .action((organizationId: string, name: string) => session.run((services) => add(services, organizationId, name)));
  group
    .command('mark-verified')
    .description('vouch for a domain, without a look into DNS')
    .argument('<organization id>', '', parseId)
    .argument('<domain or id>')
    .action((organizationId: string, nameOrId: string) =>
      session.run((services) => markVerified(services, organizationId, nameOrId)),
    );
  group
    .command('list')
    .description('list the domains of an organization')
    .argument('<organization id>', '', parseId)
    .action((organizationId: string) => session.run((services) => list(services, organizationId)));
}

async function add(services: Services, organizationId: string, name: string): Promise<Report> {
  await services.get(OrganizationsService).get(organizationId);
  const domain = await services.get(DomainsService).add(organizationId, name);
  const keys = await services.get(SigningKeysService).keysFor([{ organizationId, domainId: domain.id }]);
  const key = keys.get(domain.id);
  const shown = {
    id: domain.id,
    domain: domain.domain,
    verification_status: domain.verificationStatus,
    dkim_selector: domain.dkimSelector,
  };
  const record = key && !(key instanceof Error) ? dkimRecord(key) : null;
  return {
    json: { ...shown, dkim_record: record },
    text: fields({ ...shown, 'dkim_record host': record?.host, 'dkim_record value': record?.value }),
  };
}

async function markVerified(services: Services, organizationId: string, nameOrId: string): Promise<Report> {
  await services.get(OrganizationsService).get(organizationId);
  const domain = await services.get(DomainsService).markVerified(organizationId, nameOrId);
  const shown = { id: domain.id, domain: domain.domain, verification_status: domain.verificationStatus };
  return { json: shown, text: fields(shown) };
}

async function list(services: Services, organizationId: string): Promise<Report> {
  await services.get(OrganizationsService).get(organizationId);
  const rows = (await services.get(DomainsService).list(organizationId)).map(toRow);
  return { json: rows, text: table(rows) };
}

/** Named as in the API's Domain. */
function toRow(domain: Domain): Record<string, unknown> {
  return {
    id: domain.id,
    domain: domain.domain,
    verification_status: domain.verificationStatus,
    dkim_status: domain.dkimStatus,
    dkim_selector: domain.dkimSelector,
    warming_status: domain.warmingStatus,
    is_default: domain.isDefault,
    created_at: domain.createdAt,
  };
}
