import { Clock } from '../../common/clock';
import type { DnsAnswer, DnsResolver } from '../../common/dns/dns-resolver';
import { NodeDnsResolver } from '../../common/dns/node-dns-resolver';
import type { AppConfig } from '../../config/config';
import { DirectRouter } from '../../delivery/routing/direct-router';
import { DomainInspectionService, type InspectedRecord } from '../../modules/domains/verification/dns-check.service';
import { cell, CliError, table } from '../session/output';
import type { CliSession, Services } from '../session/cli-session';
import { assertMigrated, type Check, type CheckStatus, examine, type Finding } from './checks';
import { checkClock } from './database-checks';
import { checkEgress, type EgressTarget, findTarget, needlessBecause, resolveTarget, type SmtpHost } from './egress';
import { checkReverseDns } from './address-checks';

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

/** `waybill doctor <domain>`: checks everything that the trust in a domain's mail rests on; changes nothing. */
export async function diagnoseDomain(session: CliSession, name: string, options: DomainDoctorOptions): Promise<void> {
  const config = session.config();
  const opening = {
    migrate: false,
    create: false,
    waitSeconds: 0,
    log: (message: string) => session.output.note(message),
  };
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

/** One record, wanted beside found. */
interface RecordReport {
  readonly purpose: string;
  readonly type: string;
  readonly host: string;
  readonly required: boolean;
  readonly status: CheckStatus;
  readonly wanted: string;
  /** What is there now; of the many texts at a domain's own name, those about SPF. */
  readonly found: readonly string[];
  readonly problem?: string;
}

async function reportRecord(resolver: DnsResolver, record: InspectedRecord): Promise<RecordReport> {
  const { wanted, check, required } = record;
  const { purpose, type, host, value } = wanted;
  const answer = type === 'TXT' ? await resolver.resolveTxt(host) : await resolver.resolveCname(host);
  return {
    ...{ purpose, type, host, required },
    status: check.result === 'verified' ? 'ok' : required ? 'problem' : 'warning',
    wanted: value,
    found: recordsOf(answer).filter((text) => purpose !== 'spf' || /^v=spf1\b/i.test(text)),
    ...(check.result !== 'verified' && { problem: check.problem }),
  };
}

/** For people: a block of lines. Texts in the DNS are not trusted, so control characters are shown as question marks. */
function describeRecord({ purpose, type, host, status, wanted, found, problem }: RecordReport): string {
  const lines = [
    `${purpose.padEnd(12)}  ${status.padEnd(7)}  ${type} ${host}`,
    ...(status === 'ok' ? [] : [`  wanted   ${wanted}`, ...foundLines(found)]),
    ...(problem === undefined ? [] : [`  because  ${cell(problem)}`]),
  ];
  return lines.join('\n');
}

function foundLines(found: readonly string[]): string[] {
  return found.length === 0 ? ['  found    nothing'] : found.map((text) => `  found    ${cell(text)}`);
}

function recordsOf(answer: DnsAnswer<string>): readonly string[] {
  return answer.kind === 'found' ? answer.records : [];
}
