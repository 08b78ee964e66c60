import { randomBytes } from 'node:crypto';
import { newId } from '../../src/common/ids';
import type { Mode } from '../../src/common/tenant';
import type { Queryable } from './tenants';

const SENDER = 'Ada <ada@sender.example>';
const RECIPIENT = 'support@in.example.com';

/** A message with a text and one file. */
export const INBOUND_MESSAGE = [
  ...[`From: ${SENDER}`, `To: ${RECIPIENT}`, 'Subject: Hello', 'Message-ID: <1@sender.example>'],
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
  ...{ cc: [], subject: 'Hello' },
  ...{ messageId: '<1@sender.example>', references: [], marks: [] },
  authentication: { spf: { result: 'none' }, dkim: [], dmarc: { result: 'none' } },
};

export interface InboundFields {
  readonly organizationId: string;
  readonly mode?: Mode;
  readonly domainId?: string;
  readonly webhookId?: string;
  /** As they stand in the header. */
  readonly from?: string;
  readonly to?: string;
}

/** The address of `Name <address>`, in lower case. */
const addressIn = (mailbox: string) => mailbox.replace(/^.*<|>$/g, '').toLowerCase();

/** Mail that has come, with its bytes; returns its id. */
export async function insertInboundEmail(
  db: Queryable,
  { organizationId, mode = 'live', domainId = newId(), webhookId, from = SENDER, to = RECIPIENT }: InboundFields,
): Promise<string> {
  const message = INBOUND_MESSAGE.replace(SENDER, from).replace(RECIPIENT, to);
  const [{ id }] = await db.query(
    `insert into inbound_emails (
       organization_id, mode, id, route_id, domain_id, webhook_id, digest, envelope_from, envelope_to, from_address,
       addresses, data, size_bytes, received_at
     ) values (
       $1, $2, event_id(clock_timestamp(), 0), $3, $4, $5, $6, $9::text, array[$10::text], $9, array[$9, $10], $7, $8,
       clock_timestamp()
     ) returning id`,
    [
      ...[organizationId, mode, newId(), domainId, webhookId ?? null, randomBytes(32), { ...DATA, from, to: [to] }],
      ...[message.length, addressIn(from), addressIn(to)],
    ],
  );
  await db.query('insert into inbound_email_parts values ($1, $2, $3, 0, $4)', [
    ...[organizationId, mode, id, Buffer.from(message)],
  ]);
  await db.query(
    `insert into inbound_usage as u values ($1, 1, $2)
     on conflict (organization_id) do update set emails = u.emails + 1, bytes = u.bytes + excluded.bytes`,
    [organizationId, message.length + 4_096],
  );
  return id as string;
}
