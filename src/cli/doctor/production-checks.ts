import type { DnsAnswer, DnsResolver } from '../../common/dns/dns-resolver';
import { DnssecResolver } from '../../common/dns/dnssec-resolver';
import type { AppConfig } from '../../config/config';
import { checkBlockLists, checkReverseDns } from './address-checks';
import type { Check, Finding } from './checks';
import { examine, ok } from './checks';
import { checkEgress, needlessBecause, resolveTarget, type SmtpHost } from './egress';

const PAGE = 'docs/production.md';

/** The step of docs/production.md that each check is about, by the anchor of its heading. */
export const STEPS: Readonly<Record<string, string>> = {
  'reverse DNS': '1-a-machine-and-an-address',
  'block lists': '6-reputation',
  'outgoing mail': '1-a-machine-and-an-address',
  clock: '1-a-machine-and-an-address',
  disk: '1-a-machine-and-an-address',
  'mail host': '2-dns',
  'SPF record': '2-dns',
  'DKIM zone': '2-dns',
  DNSSEC: '2-dns',
  node: '3-install',
  configuration: '3-install',
  database: '3-install',
  'row-level security': '3-install',
  'master key': '3-install',
  certificate: '4-tls-and-the-proxy',
  'TLS and proxy': '4-tls-and-the-proxy',
  sending: '5-a-tenant-a-domain-a-first-mail',
  'feedback loops': '6-reputation',
  queue: '7-watch',
  workers: '7-watch',
  backup: '8-back-up-and-try-the-restore',
  migrations: '9-upgrade-and-back',
  backfills: '9-upgrade-and-back',
};

/** Where the page says what to do about a check; undefined for one that it says nothing about. */
export function stepOf(name: string): string | undefined {
  const anchor = STEPS[name];
  return anchor === undefined ? undefined : `${PAGE}#${anchor}`;
}

/**
 * What the world sees of this installation, as far as it can be seen from here; nothing of it in local mode, which sends
 * nothing out. The records of customers' domains are the business of `waybill doctor <domain>`.
 */
export function examineProduction(
  { delivery, dns, http }: AppConfig,
  resolver: DnsResolver,
  smtpHost: SmtpHost | undefined,
): Promise<Check[]> {
  const isLocal = delivery.mode === 'local';
  const unlessLocal = (check: () => Finding | Promise<Finding>) => () => (isLocal ? LOCAL : check());
  const outgoing = async (): Promise<Finding> => {
    if (!smtpHost) return { status: 'skipped', message: 'name a mail server that greets you with --smtp-host' };
    return checkEgress(
      await resolveTarget(resolver, { host: smtpHost.host, port: smtpHost.port ?? delivery.smtpPort }),
    );
  };
  return Promise.all([
    examine('reverse DNS', () => needlessBecause(delivery) ?? checkReverseDns(resolver, delivery.mailHost)),
    examine('block lists', () => needlessBecause(delivery) ?? checkBlockLists(resolver, delivery)),
    examine('outgoing mail', () => needlessBecause(delivery) ?? outgoing()),
    examine(
      'mail host',
      unlessLocal(() => checkMailHost(resolver, delivery.mailHost)),
    ),
    examine(
      'SPF record',
      unlessLocal(() => checkSpfRecord(resolver, dns.spfHost)),
    ),
    examine(
      'DKIM zone',
      unlessLocal(() => checkZone(resolver, dns)),
    ),
    examine('DNSSEC', () => needlessBecause(delivery) ?? checkDnssec(delivery)),
    examine(
      'TLS and proxy',
      unlessLocal(() => checkProxy(http)),
    ),
    examine(
      'feedback loops',
      unlessLocal(() => FEEDBACK),
    ),
  ]);
}

const LOCAL: Finding = { status: 'skipped', message: 'not needed: local mode sends nothing out' };

const FEEDBACK: Finding = {
  status: 'skipped',
  message: 'cannot be seen from here: register fbl@ your mail host with the providers that have one',
};

/** Bounces and complaints come to the mail host: it needs an address, or an MX that leads to it. */
export async function checkMailHost(resolver: DnsResolver, mailHost: string): Promise<Finding> {
  const mx = await resolver.resolveMx(mailHost);
  const hosts = mx.kind === 'found' ? mx.records.map(({ exchange }) => exchange) : [];
  if (hosts.includes(mailHost)) return ok(`${mailHost} takes its own mail`);
  if (hosts.length > 0) {
    const message = `mail to ${mailHost} goes to ${hosts.join(', ')}: bounces must reach role inbound there`;
    return { status: 'warning', message, details: { hosts } };
  }
  const addresses = await resolver.resolveAddresses(mailHost);
  if (addresses.kind === 'found') {
    return { status: 'warning', message: `${mailHost} has no MX record, its address is used` };
  }
  return unseen(addresses, `${mailHost} has neither an MX record nor an address: bounces cannot come back`);
}

/** What customers' SPF records include. */
export async function checkSpfRecord(resolver: DnsResolver, spfHost: string): Promise<Finding> {
  const answer = await resolver.resolveTxt(spfHost);
  if (answer.kind !== 'found') return unseen(answer, `${spfHost} has no TXT record: SPF fails for every customer`);
  const records = answer.records.filter((text) => /^v=spf1(\s|$)/i.test(text));
  if (records.length === 1) return ok(`${spfHost}: ${records[0] ?? ''}`);
  const message = `${spfHost} has ${records.length} SPF records, and must have one (RFC 7208 section 3.2)`;
  return { status: 'problem', message };
}

/** Over the delegation the zone's own name exists; without one, the zone above says that it does not. */
export async function checkZone(
  resolver: DnsResolver,
  { dkimZone, nameServerHosts }: AppConfig['dns'],
): Promise<Finding> {
  if (dkimZone === undefined) {
    return { status: 'skipped', message: 'DKIM_ZONE is not set: customers publish their keys' };
  }
  const answer = await resolver.resolveTxt(dkimZone);
  const servers = nameServerHosts.join(', ');
  switch (answer.kind) {
    case 'found':
    case 'no-data':
      return ok(`${dkimZone} is delegated and answered`, { servers: nameServerHosts });
    case 'no-domain':
      return {
        status: 'problem',
        message: `${dkimZone} is not delegated to ${servers}: signatures cannot be verified`,
      };
    case 'temporary':
      return {
        status: 'warning',
        message: `${dkimZone} does not answer (${answer.reason}): does role dns run at ${servers}?`,
      };
  }
}

/** A zone that has been signed since 2010. */
const SIGNED_ZONE = 'org';

/** DANE goes by the word of the resolver, so that it must give it. */
async function checkDnssec(
  { dnssecTrusted, dnsServers }: AppConfig['delivery'],
  resolver: Pick<DnssecResolver, 'query'> = new DnssecResolver(dnsServers),
): Promise<Finding> {
  if (!dnssecTrusted) return { status: 'skipped', message: 'DNSSEC_TRUSTED is not set: no DANE (docs/tls.md)' };
  const answer = await resolver.query(SIGNED_ZONE, 'NS');
  if (answer.kind === 'temporary') return unseen(answer, '');
  if (answer.isSecure) return ok('the resolver validates');
  const message = 'DNSSEC_TRUSTED is set, but the resolver does not validate (no AD flag): DANE finds nothing';
  return { status: 'problem', message };
}

export function checkProxy({ publicUrl, trustProxy, host }: AppConfig['http']): Finding {
  if (!publicUrl.startsWith('https:')) {
    return { status: 'problem', message: `PUBLIC_URL is ${publicUrl}: API keys and links in mail need https` };
  }
  const isBehindProxy = trustProxy !== false;
  if (isBehindProxy) return ok(`${publicUrl}, behind a proxy that is trusted`, { host });
  const message = 'TRUST_PROXY is not set: behind the proxy that ends TLS, every client has its address';
  return { status: 'warning', message };
}

function unseen(answer: Exclude<DnsAnswer<unknown>, { kind: 'found' }>, message: string): Finding {
  if (answer.kind !== 'temporary') return { status: 'problem', message };
  return { status: 'warning', message: `could not be looked up (${answer.reason}); nothing can be concluded` };
}
