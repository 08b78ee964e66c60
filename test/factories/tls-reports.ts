import { gzipSync } from 'node:zlib';

export interface TlsReportFields {
  readonly domain: string;
  readonly reporter?: string;
  readonly reportId?: string;
  readonly begin: Date;
  readonly end: Date;
  readonly policyType?: string;
  readonly succeeded?: number;
  readonly failures?: readonly { readonly type: string; readonly count: number; readonly mxHost?: string }[];
}

/** As in RFC 8460 appendix B. */
export function tlsReportJson({ domain, begin, end, ...fields }: TlsReportFields): string {
  const {
    reporter = 'Company-X',
    reportId = '5065427c-23d3',
    policyType = 'sts',
    succeeded = 5326,
    failures = [],
  } = fields;
  return JSON.stringify({
    'organization-name': reporter,
    'date-range': { 'start-datetime': begin.toISOString(), 'end-datetime': end.toISOString() },
    'contact-info': 'sts-reporting@company-x.example',
    'report-id': reportId,
    policies: [
      {
        policy: {
          'policy-type': policyType,
          'policy-string': ['version: STSv1', 'mode: testing', 'mx: *.mail.company-y.example', 'max_age: 86400'],
          'policy-domain': domain,
          'mx-host': ['*.mail.company-y.example'],
        },
        summary: {
          'total-successful-session-count': succeeded,
          'total-failure-session-count': failures.reduce((sum, { count }) => sum + count, 0),
        },
        'failure-details': failures.map(({ type, count, mxHost }) => ({
          'result-type': type,
          'sending-mta-ip': '2001:db8:abcd:0012::1',
          ...(mxHost !== undefined && { 'receiving-mx-hostname': mxHost }),
          'failed-session-count': count,
        })),
      },
    ],
  });
}

/** A message as senders write it (RFC 8460 section 5.3), with lines of CRLF. */
export function tlsReportMail(data: Buffer | string, type = 'application/tlsrpt+gzip'): string {
  const bytes = typeof data === 'string' ? gzipSync(Buffer.from(data)) : data;
  return [
    'From: tlsrpt@mail.sender.example',
    'Subject: Report Domain: company-y.example Submitter: company-x.example Report-ID: <735ff.e317>',
    'TLS-Report-Domain: company-y.example',
    'MIME-Version: 1.0',
    'Content-Type: multipart/report; report-type="tlsrpt"; boundary="b"',
    '',
    '--b',
    'Content-Type: text/plain',
    '',
    'This is an aggregate TLS report.',
    '--b',
    `Content-Type: ${type}`,
    'Content-Disposition: attachment; filename="mail.sender.example!company-y.example!1470013207!1470186007!001.json.gz"',
    'Content-Transfer-Encoding: base64',
    '',
    ...(bytes.toString('base64').match(/.{1,76}/g) ?? []),
    '--b--',
    '',
  ].join('\r\n');
}
