import { gzipSync } from 'node:zlib';

export interface DmarcFields {
  readonly domain: string;
  readonly reporter?: string;
  readonly reportId?: string;
  readonly begin: Date;
  readonly end: Date;
  readonly policy?: string;
  readonly records: readonly DmarcRecordFields[];
}

export interface DmarcRecordFields {
  readonly ip: string;
  readonly count: number;
  readonly dkim?: 'pass' | 'fail';
  readonly spf?: 'pass' | 'fail';
  readonly disposition?: string;
  readonly headerFrom?: string;
}

const seconds = (at: Date) => Math.floor(at.getTime() / 1_000);

/** As in RFC 7489 appendix C. */
export function dmarcXml(fields: DmarcFields): string {
  const { domain, reporter = 'google.com', reportId = '13190401177475355109', begin, end, policy = 'none' } = fields;
  const records = fields.records.map(
    ({ ip, count, dkim = 'pass', spf = 'pass', disposition = 'none', headerFrom = domain }) => `
  <record>
    <row><source_ip>${ip}</source_ip><count>${count}</count>
      <policy_evaluated><disposition>${disposition}</disposition><dkim>${dkim}</dkim><spf>${spf}</spf></policy_evaluated>
    </row>
    <identifiers><header_from>${headerFrom}</header_from></identifiers>
    <auth_results>
      <dkim><domain>${domain}</domain><result>${dkim}</result><selector>s1</selector></dkim>
      <spf><domain>bounce.${domain}</domain><result>${spf}</result></spf>
    </auth_results>
  </record>`,
  );
  return `<?xml version="1.0" encoding="UTF-8" ?>
<feedback>
  <report_metadata><org_name>${reporter}</org_name><email>noreply@${reporter}</email><report_id>${reportId}</report_id>
    <date_range><begin>${seconds(begin)}</begin><end>${seconds(end)}</end></date_range></report_metadata>
  <policy_published><domain>${domain}</domain><adkim>r</adkim><aspf>r</aspf><p>${policy}</p><sp>${policy}</sp><pct>100</pct></policy_published>
  ${records.join('')}
</feedback>`;
}

/** A message as receivers send it, with lines of CRLF. */
export function dmarcMail(
  data: Buffer | string,
  type = 'application/gzip',
  name = 'google.com!example.xml.gz',
): string {
  const bytes = typeof data === 'string' ? gzipSync(Buffer.from(data)) : data;
  return [
    'From: noreply-dmarc-support@google.com',
    'Subject: Report domain: example Submitter: google.com',
    'MIME-Version: 1.0',
    `Content-Type: ${type}; name="${name}"`,
    `Content-Disposition: attachment; filename="${name}"`,
    'Content-Transfer-Encoding: base64',
    '',
    ...(bytes.toString('base64').match(/.{1,76}/g) ?? []),
  ].join('\r\n');
}
