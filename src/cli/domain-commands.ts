import type { Command } from 'commander';
import { OrganizationsService } from '../auth/organizations.service';
import type { Domain } from '../modules/domains/registry/domain.entity';
import { DomainDetailsService } from '../modules/domains/domain-details.service';
import { DomainsService } from '../modules/domains/domains.service';
import { type CliSession, parseId, type Services } from './session/cli-session';
import { fields, type Report, table } from './session/output';
import { addRestrictionCommands } from './restriction-commands';

/** `waybill domain …` */
export function addDomainCommands(program: Command, session: CliSession): void {
  const group = program.command('domain').description('sender domains');
  group
    .command('add')
    .description('register a domain and show the DNS records to publish')
    .argument('<organization id>', '', parseId)
    .argument('<domain>')
    .action((organizationId: string, name: string) => session.run((services) => add(services, organizationId, name)));
  group
    .command('mark-verified')
    .description('mark a domain as verified, without a DNS check')
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
  addRestrictionCommands(group, session);
}

async function add(services: Services, organizationId: string, name: string): Promise<Report> {
  await services.get(OrganizationsService).get(organizationId);
  const domain = await services.get(DomainsService).add(organizationId, name);
  const { records } = await services.get(DomainDetailsService).detailOf(domain);
  const shown = {
    id: domain.id,
    domain: domain.domain,
    verification_status: domain.verificationStatus,
    dkim_selector: domain.dkimSelector,
  };
  const wanted = records.map(({ record: { purpose, type, host, value } }) => ({ purpose, type, host, value }));
  // Without a delegated zone a new domain has one key, and its owner publishes it.
  const key = wanted.find(({ purpose, type }) => purpose === 'dkim' && type === 'TXT');
  return {
    json: { ...shown, dkim_record: key ? { host: key.host, value: key.value } : null, records: wanted },
    text: `${fields(shown)}\n\n${table(wanted)}`,
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
