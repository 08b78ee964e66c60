import { createHash } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import type { TlsReportsConfig } from '../../../config/config';
import type { DueReport, SessionCount } from '../../../delivery/tls/tls-report-data.service';

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
  const id = `${day}T00:00:00Z_${domain}@${sender}`;
  const types = [...new Set(counts.map(({ policyType }) => policyType))];
  const report = {
    'organization-name': organization,
    'date-range': { 'start-datetime': `${day}T00:00:00Z`, 'end-datetime': `${day}T23:59:59Z` },
    'contact-info': contact,
    'report-id': id,
    policies: types.map((type) => policyOf(type, domain, counts)),
  };
  const begin = Date.parse(`${day}T00:00:00Z`) / 1_000;
  const fileName = `${sender}!${domain}!${begin}!${begin + DAY_SECONDS - 1}.json.gz`;
  return { id, fileName, gzip: gzipSync(JSON.stringify(report)) };
}

function policyOf(type: SessionCount['policyType'], domain: string, counts: readonly SessionCount[]) {
  const own = counts.filter(({ policyType }) => policyType === type);
  const failures = own.filter(({ result }) => result !== SUCCESS);
  return {
    policy: { 'policy-type': type, 'policy-domain': domain },
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
  const submitter = contact.slice(contact.lastIndexOf('@') + 1);
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
