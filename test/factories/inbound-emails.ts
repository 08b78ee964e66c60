import { randomBytes } from 'node:crypto';
import { newId } from '../../src/common/ids';
import type { Mode } from '../../src/common/tenant';
import type { Queryable } from './tenants';

/** A message with a text and one file. */
export const INBOUND_MESSAGE = [
  ...[
    'From: Ada <ada@sender.example>',
    'To: support@in.example.com',
    'Subject: Hello',
    'Message-ID: <1@sender.example>',
  ],
  ...['MIME-Version: 1.0', 'Content-Type: multipart/mixed; boundary=b', ''],
  ...['--b', 'Content-Type: text/plain; charset=utf-8', '', 'Good morning', '--b'],
  ...[
    'Content-Type: application/pdf; name="bill.pdf"',
    'Content-Transfer-Encoding: base64',
    '',
    'JVBERi0=',
    '--b--',
    '',
  ],
].join('\r\n');

const DATA = {
  ...{ from: 'Ada <ada@sender.example>', to: ['support@in.example.com'], cc: [], subject: 'Hello' },
  ...{ messageId: '<1@sender.example>', references: [], marks: [] },
  authentication: { spf: { result: 'none' }, dkim: [], dmarc: { result: 'none' } },
};

export interface InboundFields {
  readonly organizationId: string;
  readonly mode?: Mode;
  readonly domainId?: string;
  readonly webhookId?: string;
}

/** Mail that has come, with its bytes; answers its id. */
export async function insertInboundEmail(
  db: Queryable,
  { organizationId, mode = 'live', domainId = newId(), webhookId }: InboundFields,
): Promise<string> {
  const [{ id }] = await db.query(
    `insert into inbound_emails (
       organization_id, mode, id, route_id, domain_id, webhook_id, digest, envelope_from, envelope_to, from_address,
       addresses, data, size_bytes, received_at
     ) values (
       $1, $2, event_id(clock_timestamp(), 0), $3, $4, $5, $6, 'ada@sender.example', '{support@in.example.com}',
       'ada@sender.example', '{ada@sender.example,support@in.example.com}', $7, $8, clock_timestamp()
     ) returning id`,
    [organizationId, mode, newId(), domainId, webhookId ?? null, randomBytes(32), DATA, INBOUND_MESSAGE.length],
  );
  await db.query('insert into inbound_email_parts values ($1, $2, $3, 0, $4)', [
    ...[organizationId, mode, id, Buffer.from(INBOUND_MESSAGE)],
  ]);
  return id as string;
}
