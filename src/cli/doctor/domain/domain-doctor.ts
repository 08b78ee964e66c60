import { Clock } from '../../../common/clock';
import type { DnsResolver } from '../../../common/dns/dns-resolver';
import { NodeDnsResolver } from '../../../common/dns/node-dns-resolver';
import type { AppConfig } from '../../../config/config';
import { DirectRouter } from '../../../delivery/routing/direct-router';
import { DomainInspectionService } from '../../../modules/domains/domain-inspection.service';
import { CliError } from '../../cli-error';
import type { CliSession, Services } from '../../cli-session';
import { table } from '../../text';
import { type Check, examine, type Finding } from '../check';
import { checkClock } from '../database-checks';
import { assertMigrated } from '../schema-state';
import { checkEgress, type EgressTarget, findTarget, needlessBecause, resolveTarget, type SmtpHost } from './egress';
import { describeRecord, type RecordReport, reportRecord } from './record-report';
import { checkReverseDns } from './reverse-dns';

export interface DomainDoctorOptions {
  /** Which organization's domain, where several have it. */
  readonly org?: string;
  /** Server to try the way out with; default: the domain's own mail exchangers. */
  readonly smtpHost?: SmtpHost;
}

interface DomainReport {
  readonly domain: string;
  readonly organization_id: string;
  readonly verification_status: string;
  readonly dkim_status: string | null;
  readonly healthy: boolean;
  readonly records: readonly RecordReport[];
  readonly checks: readonly Check[];
}

/** `waybill doctor <domain>`: looks at everything that the trust in a domain's mail rests on; changes nothing. */
export async function diagnoseDomain(session: CliSession, name: string, options: DomainDoctorOptions): Promise<void> {
  const config = session.config();
  const opening = { migrate: false, waitSeconds: 0, log: (message: string) => session.output.note(message) };
  const report = await session.withServices(config, opening, async (services, url) => {
    await assertMigrated(url);
    return examineDomain(services, config, name, options);
  });
  // People see everything in any case; programs get one value, here or in the error.
  if (report.healthy || !session.output.json) session.output.result({ json: report, text: describe(report) });
  if (report.healthy) return;
  throw new CliError('unhealthy', `Something is wrong: ${problemsOf(report).join(', ')}`, { ...report });
}

async function examineDomain(
  services: Services,
  config: AppConfig,
  name: string,
  { org, smtpHost }: DomainDoctorOptions,
): Promise<DomainReport> {
  const resolver = new NodeDnsResolver({ servers: config.delivery.dnsServers });
  const { domain, records: inspected } = await services.get(DomainInspectionService).inspect(name, org);
  const findTargetOf = () => targetOf(services, config, resolver, smtpHost ?? { domain: domain.domain });
  const [records, checks] = await Promise.all([
    Promise.all(inspected.map((record) => reportRecord(resolver, record))),
    Promise.all([
      examine(
        'reverse DNS',
        () => needlessBecause(config.delivery) ?? checkReverseDns(resolver, config.delivery.mailHost),
      ),
      examine('outgoing mail', async () => needlessBecause(config.delivery) ?? checkEgress(await findTargetOf())),
      examine('clock', () => checkClock(services)),
    ]),
  ]);
  const report = {
    domain: domain.domain,
    organization_id: domain.organizationId,
    verification_status: domain.verificationStatus,
    dkim_status: domain.dkimStatus,
    ...{ records, checks },
  };
  return { ...report, healthy: problemsOf(report).length === 0 };
}

function targetOf(
  services: Services,
  { delivery }: AppConfig,
  resolver: DnsResolver,
  wanted: SmtpHost | { readonly domain: string },
): Promise<EgressTarget | string> {
  const { smtpPort: port, allowPrivateDestinations, mailHost } = delivery;
  if (!('domain' in wanted)) return resolveTarget(resolver, { host: wanted.host, port: wanted.port ?? port });
  const options = { port, allowPrivateDestinations, ownHostNames: [mailHost] };
  return findTarget(new DirectRouter(resolver, services.get(Clock), options), wanted.domain);
}

function problemsOf({ records, checks }: Pick<DomainReport, 'records' | 'checks'>): string[] {
  const names = [
    ...records.map(({ purpose, status }) => ({ name: purpose, status })),
    ...checks.map(({ name, status }) => ({ name, status })),
  ];
  return [...new Set(names.filter(({ status }) => status === 'problem').map(({ name }) => name))];
}

function describe(report: DomainReport): string {
  const { domain, organization_id: organization, verification_status: verification, dkim_status: dkim } = report;
  const rows = report.checks.map(({ name, status, message }: Check & Finding) => ({
    check: name,
    status,
    finding: message,
  }));
  return [
    `${domain} of organization ${organization}: ownership ${verification}, DKIM ${dkim ?? 'unknown'}`,
    '',
    ...report.records.map(describeRecord),
    '',
    table(rows),
  ].join('\n');
}
