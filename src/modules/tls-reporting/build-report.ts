import { createHash } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { domainOf } from '../../common/mail-address';
import type { TlsReportsConfig } from '../../config/config';
import type { DueReport, SessionCount } from '../../delivery/tls/tls-report-data.service';

const SUCCESS = 'success';
const DAY_SECONDS = 86_400;

/** A report on TLS (RFC 8460), packed as it is sent. */
export interface BuiltReport {
  /** Names it, the same however often it is built. */
  readonly id: string;
  readonly fileName: string;
  readonly gzip: Buffer;
}

/** @param sender the host that the mail came from */
export function buildReport(
  { day, domain }: DueReport,
  counts: readonly SessionCount[],
  { organization, contact }: TlsReportsConfig,
  sender: string,
): BuiltReport {
  // A msg-id (RFC 5322 section 3.6.4), which a header and a file name can hold.
  const id = `${day}_${domain}@${sender}`;
  const submitter = domainOf(contact);
  const report = {
    'organization-name': organization,
    'date-range': { 'start-datetime': `${day}T00:00:00Z`, 'end-datetime': `${day}T23:59:59Z` },
    'contact-info': contact,
    'report-id': id,
    policies: groupsOf(counts).map((group) => policyOf(domain, group)),
  };
  const begin = Date.parse(`${day}T00:00:00Z`) / 1_000;
  const fileName = `${submitter}!${domain}!${begin}!${begin + DAY_SECONDS - 1}.json.gz`;
  return { id, fileName, gzip: gzipSync(JSON.stringify(report)) };
}

/** By the policy that they were checked against; a domain may have changed its policy in the day, and with TLSA records each host has one. */
function groupsOf(counts: readonly SessionCount[]): (readonly [SessionCount, ...SessionCount[]])[] {
  const groups = new Map<string, [SessionCount, ...SessionCount[]]>();
  for (const count of counts) {
    const key = `${count.policyType} ${count.policy}`;
    const group = groups.get(key);
    if (group) group.push(count);
    else groups.set(key, [count]);
  }
  return [...groups.values()];
}

const MX_FIELD = 'mx: ';

function policyOf(domain: string, own: readonly [SessionCount, ...SessionCount[]]) {
  const [{ policyType, policy }] = own;
  const failures = own.filter(({ result }) => result !== SUCCESS);
  const lines = policy === '' ? [] : policy.split('\n');
  const hosts = lines.filter((line) => policyType === 'sts' && line.startsWith(MX_FIELD));
  return {
    policy: {
      'policy-type': policyType,
      ...(lines.length > 0 && { 'policy-string': lines }),
      'policy-domain': domain,
      ...(hosts.length > 0 && { 'mx-host': hosts.map((line) => line.slice(MX_FIELD.length)) }),
    },
    summary: {
      'total-successful-session-count': sum(own.filter(({ result }) => result === SUCCESS)),
      'total-failure-session-count': sum(failures),
    },
    ...(failures.length > 0 && { 'failure-details': failures.map(detailOf) }),
  };
}

function detailOf({ result, mxHost, sendingIp, receivingIp, sessions }: SessionCount) {
  return {
    'result-type': result,
    ...(sendingIp && { 'sending-mta-ip': sendingIp }),
    ...(mxHost && { 'receiving-mx-hostname': mxHost }),
    ...(receivingIp && { 'receiving-ip': receivingIp }),
    'failed-session-count': sessions,
  };
}

function sum(counts: readonly SessionCount[]): number {
  return counts.reduce((total, { sessions }) => total + sessions, 0);
}

/** The mail of RFC 8460 section 5.3. */
export function reportMail(report: BuiltReport, domain: string, { contact }: TlsReportsConfig, to: string): string {
  const submitter = domainOf(contact);
  // The same whenever it is built: it is one mail, however often it is tried.
  const boundary = `tlsrpt-${createHash('sha256').update(report.id).digest('hex')}`;
  return [
    `From: ${contact}`,
    `To: ${to}`,
    `Subject: Report Domain: ${domain} Submitter: ${submitter}`,
    ` Report-ID: <${report.id}>`,
    `TLS-Report-Domain: ${domain}`,
    `TLS-Report-Submitter: ${submitter}`,
    'MIME-Version: 1.0',
    `Content-Type: multipart/report; report-type="tlsrpt"; boundary="${boundary}"`,
    '',
    `--${boundary}`,
    'Content-Type: text/plain; charset=us-ascii',
    '',
    `This is an aggregate TLS report from ${submitter} for ${domain}.`,
    '',
    `--${boundary}`,
    'Content-Type: application/tlsrpt+gzip',
    'Content-Transfer-Encoding: base64',
    `Content-Disposition: attachment;`,
    ` filename="${report.fileName}"`,
    '',
    ...(report.gzip.toString('base64').match(/.{1,76}/g) ?? []),
    `--${boundary}--`,
    '',
  ].join('\r\n');
}
