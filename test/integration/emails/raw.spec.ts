import { MessageSource } from '../../../src/delivery/ports/sources';
import { EmailContentService } from '../../../src/modules/emails/email-content.service';
import { SendRawService } from '../../../src/modules/emails/accept/send-raw.service';
import { SmtpSink } from '../../doubles/smtp-sink';
import { verifyDkim } from '../../e2e/kit/verify-dkim';
import { DeliveryScene } from '../../setup/delivery-scene';

const MIB = 1024 * 1024;
const base64 = (text: string) => Buffer.from(text, 'latin1').toString('base64');

/** What a whole message is apart from what we put before it. */
const BODY = [
  'Content-Type: multipart/mixed; boundary="=_b"',
  '',
  'preamble with trailing blanks  ',
  '--=_b',
  'Content-Type: text/plain; charset=iso-8859-1',
  'Content-Transfer-Encoding: 8bit',
  '',
  'Gr\xfc\xdfe',
  '.a line that begins with a dot',
  '--=_b',
  'Content-Type: text/calendar; method=REQUEST; name="invite.ics"',
  '',
  'BEGIN:VCALENDAR',
  'END:VCALENDAR',
  '--=_b--',
  'epilogue',
  '',
].join('\r\n');

describe('raw messages', () => {
  let scene: DeliveryScene;
  let sink: SmtpSink;

  beforeAll(async () => {
    scene = await DeliveryScene.open();
    sink = await SmtpSink.start({ eightBitMime: true });
  });
  beforeEach(() => sink.clear());
  afterEach(() => scene.clear());
  afterAll(async () => {
    await scene.close();
    await sink.stop();
  });

  const from = () => `From: Shop <hello@${scene.tenant.domain}>\r\n`;
  const accept = async (fields: Record<string, unknown>, key?: string, mode: 'live' | 'test' = 'live') =>
    scene.core.get(SendRawService).send(fields, key, scene.tenant.as(mode));
  const start = () => scene.startWorker({ hopPort: sink.port });

  it('go out as they came, signed, without Bcc and fields for us, with Date and Message-ID', async () => {
    const head = `Received: from app\r\n${from()}To: ann@x.example\r\nCc: Cid <cid@x.example>\r\nSubject: =?utf-8?q?B=C3=BCcher?=\r\n`;
    const ours = 'Bcc: bob@x.example\r\nX-Waybill-Tags: one, two\r\nX-Waybill-Metadata: {"order": 7}\r\n';
    const to = ['bob@x.example', 'ann@x.example', 'cid@x.example'];
    const { accepted } = await accept({ raw: base64(head + ours + BODY), to });
    await start();
    const { email, recipients, events } = await scene.readWhenStatus(accepted.id, 'sent');
    expect(email).toMatchObject({ subject: 'Bücher', from_name: 'Shop', tags: ['one', 'two'], metadata: { order: 7 } });
    expect(recipients.map(({ kind, address }) => [kind, address])).toEqual([
      ['bcc', 'bob@x.example'],
      ['to', 'ann@x.example'],
      ['cc', 'cid@x.example'],
    ]);
    expect(events[0]).toMatchObject({ event_type: 'queued', source: 'api' });
    expect(sink.messages).toHaveLength(3);
    const [first] = sink.messages;
    for (const { content, parameters } of sink.messages) {
      expect(content).toEqual(first?.content);
      expect(parameters).toContain('BODY=8BITMIME');
    }
    const text = first!.content.toString('latin1');
    const added = new RegExp(
      `^DKIM-Signature: [^]+?\\r\\n(?! )Date: [^\\r]+\\r\\nMessage-ID: <${accepted.id}@${scene.tenant.domain}>\\r\\n`,
    ).exec(text)![0];
    expect(text.slice(added.length)).toBe(head + BODY);
    expect(await verifyDkim(first!.content, scene.db.url)).toMatchObject([{ result: 'pass' }]);
  });

  it('keep a Date and a Message-ID of their own; the signature names the email', async () => {
    const message = `${from()}Date: Mon, 2 Nov 2026 10:00:00 +0100\r\nMessage-ID: <own@x.example>\r\n\r\nhi`;
    const { accepted } = await accept({ raw: base64(message), to: ['ann@x.example'] });
    await start();
    await scene.readWhenStatus(accepted.id, 'sent');
    const text = sink.messages[0]!.content.toString();
    expect(text).toContain(` i=${accepted.id}@${scene.tenant.domain};`);
    expect(text.slice(text.indexOf('\r\nFrom:') + 2)).toBe(`${message}\r\n`);
    expect(await verifyDkim(sink.messages[0]!.content, scene.db.url)).toMatchObject([{ result: 'pass' }]);
  });

  it('of all LF are converted; a mix and a CR alone are refused', async () => {
    const { accepted } = await accept({
      raw: base64(`${from()}\r\nA\r\nB\r\n`.replaceAll('\r\n', '\n')),
      to: ['a@x.example'],
    });
    await start();
    await scene.readWhenStatus(accepted.id, 'sent');
    expect(sink.messages[0]!.content.toString()).toMatch(/\r\n\r\nA\r\nB\r\n$/);
    for (const body of ['A\nB', 'A\rB', 'A\r\n.\n']) {
      await expect(accept({ raw: base64(`${from()}\r\n${body}\r\n`), to: ['a@x.example'] })).rejects.toMatchObject({
        code: 'invalid_request',
        details: { validation: { raw: [expect.stringMatching(/line ends/)] } },
      });
    }
  });

  it('are refused for the same reasons as other emails', async () => {
    const raw = base64(`${from()}\r\nhi`);
    const to = ['a@x.example'];
    const refused: [Record<string, unknown>, object][] = [
      [{ raw: base64('From: a@foreign.example\r\n\r\nhi'), to }, { code: 'domain_not_verified' }],
      [{ raw: base64(`From: a@x.example, b@${scene.tenant.domain}\r\n\r\nhi`), to }, { code: 'invalid_request' }],
      [{ raw, to: [] }, { code: 'invalid_request' }],
      [{ raw, to: Array.from({ length: 51 }, (_, index) => `a${index}@x.example`) }, { code: 'invalid_request' }],
      [{ raw: '%%%%', to }, { code: 'invalid_request' }],
      [{ raw, to, subject: 'x' }, { code: 'invalid_request' }],
      [{ raw: base64(`X-Waybill-Category: urgent\r\n${from()}\r\nhi`), to }, { code: 'invalid_request' }],
      [
        { raw: base64(`X-Waybill-Metadata: {no\r\n${from()}\r\nhi`), to },
        { details: { validation: { metadata: ['metadata must be JSON, with nothing named twice'] } } },
      ],
      [
        { raw: base64(`X-Waybill-Tags: a\r\n${from()}x-waybill-tags: b\r\n\r\nhi`), to },
        { details: { validation: { tags: ['tags is given twice'] } } },
      ],
      [
        { raw: base64(`X-Waybill-Tags: =?utf-8?q?a=00b?=\r\n${from()}\r\nhi`), to },
        { details: { validation: { tags: ['tags must not contain NUL characters'] } } },
      ],
      [{ raw: Buffer.alloc(25 * MIB + 3, 'a').toString('base64'), to }, { code: 'payload_too_large' }],
    ];
    for (const [fields, error] of refused) await expect(accept(fields)).rejects.toMatchObject(error);
  });

  it('are accepted once under a key, from the header, the request or the message', async () => {
    const raw = base64(`X-Waybill-Idempotency-Key: k1\r\n${from()}\r\nhi`);
    const first = await accept({ raw, to: ['a@x.example'] });
    expect(await accept({ raw, to: ['a@x.example'] }, 'k1')).toMatchObject({
      accepted: { id: first.accepted.id },
      replayed: true,
    });
    await expect(accept({ raw, to: ['b@x.example'] })).rejects.toMatchObject({ code: 'idempotency_key_reused' });
  });

  it('of some MiB lie in parts, and leave in one piece', async () => {
    const body = Buffer.alloc(4 * MIB, `${'x'.repeat(70)}\r\n`)
      .subarray(0, 4 * MIB - 4)
      .toString('latin1');
    const { accepted } = await accept({ raw: base64(`${from()}\r\n${body}\r\n`), to: ['a@x.example'] });
    const [{ parts, bytes } = { parts: 0, bytes: 0 }] = await scene.db.query<{ parts: number; bytes: number }>(
      'select count(*)::int as parts, max(size) as bytes from email_attachments where email_id = $1',
      [accepted.id],
    );
    expect({ parts, bytes }).toEqual({ parts: 5, bytes: MIB });
    const worker = await start();
    await scene.readWhenStatus(accepted.id, 'sent');
    const { content } = sink.messages[0]!;
    expect(content.subarray(content.indexOf('\r\n\r\n') + 4).toString('latin1')).toBe(`${body}\r\n`);
    const key = { organizationId: scene.tenant.organizationId, mode: 'live', emailId: accepted.id } as const;
    // Room for what goes before it, so that it is not copied.
    expect((await worker.get(MessageSource).loadRaw(key, 100)).length).toBe(
      100 + content.length - content.indexOf('\r\nFrom: ') - 2,
    );
  });

  it('show their texts and files when they are read, and are not sent in test mode', async () => {
    const { accepted } = await accept({ raw: base64(from() + BODY), to: ['a@x.example'] }, undefined, 'test');
    const view = await scene.core.get(EmailContentService).content(scene.tenant.as('test'), accepted.id);
    expect(view).toMatchObject({
      content: { text: 'Grüße\r\n.a line that begins with a dot', html: null },
      attachments: [{ filename: 'invite.ics', contentType: 'text/calendar', size: 30 }],
    });
    expect(view.content.headers).toMatchObject({ From: `Shop <hello@${scene.tenant.domain}>` });
    await start();
    await scene.readWhen(accepted.id, ({ email }) => email.status === 'delivered', 'the simulator');
    expect(sink.messages).toEqual([]);
  });
});
