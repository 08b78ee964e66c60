import { MessageSource } from '../../../src/delivery/ports/sources';
import { SendRawService } from '../../../src/modules/emails/accept/send-raw.service';
import { EmailChangesService } from '../../../src/modules/emails/email-changes.service';
import { ExportCollector } from '../../../src/modules/privacy/export/export-collector.service';
import { ErasureScene } from './erasure-scene';
import { shows } from './hiding-places';

const ANN = 'annqz@x.example';
const BOB = 'bob@x.example';
const FIRST_ID = '00000000-0000-0000-0000-000000000000';
const LAST_ID = 'ffffffff-ffff-ffff-ffff-ffffffffffff';

describe('raw messages of a person', () => {
  let scene: ErasureScene;
  beforeAll(async () => {
    scene = await ErasureScene.open();
  });
  afterAll(() => scene.close());

  async function send(to: readonly string[], header: string, body: string, from = 'hello'): Promise<string> {
    const message = `From: Shop <${from}@${scene.tenant.domain}>\r\nTo: ${to.join(', ')}\r\n${header}\r\n${body}`;
    const request = { raw: Buffer.from(message).toString('base64'), to };
    const { accepted } = await scene.delivery.core
      .get(SendRawService)
      .send(request, undefined, scene.tenant.as('live'));
    return accepted.id;
  }

  const load = (emailId: string) => {
    const key = { organizationId: scene.tenant.organizationId, mode: 'live', emailId } as const;
    return scene.worker.get(MessageSource).loadRaw(key, 0);
  };

  it('are exported with their content, without other people', async () => {
    const id = await send(
      [ANN, BOB],
      'Subject: Order\r\nX-Order: 7\r\nContent-Type: multipart/mixed; boundary=b\r\n',
      '--b\r\nContent-Type: text/html\r\n\r\n<p>Hello</p>\r\n--b\r\nContent-Type: application/pdf; name=a.pdf\r\n\r\nx\r\n--b--\r\n',
    );
    const { organizationId } = scene.tenant;
    const found = await scene.worker
      .get(ExportCollector)
      .nextEmails({ organizationId, mode: 'live', address: ANN }, { after: FIRST_ID, before: LAST_ID });
    const email = found?.emails.find((each) => each.id === id);
    expect(email).toMatchObject({
      htmlBody: '<p>Hello</p>',
      headers: { 'X-Order': '7', To: expect.stringContaining(ANN) },
      attachments: [{ filename: 'a.pdf', contentType: 'application/pdf', sizeBytes: 1 }],
    });
    expect(JSON.stringify(email)).not.toContain(BOB);
  });

  it('lose the address of who is erased, and go on to the others', async () => {
    const body = `KEPT ${ANN}, ${encodeURIComponent(ANN)} and ${Buffer.from(`to ${ANN}`).toString('base64')} KEPT\r\n`;
    const large = await send([ANN, BOB], `Subject: for ${ANN}\r\n`, body + 'x'.repeat(1_500_000));
    const hidden = await send([ANN, BOB], 'Content-Transfer-Encoding: base64\r\n', linesOf(`${'y '.repeat(25)}${ANN}`));
    const short = await send([ANN, BOB], 'Content-Transfer-Encoding: base64\r\n', linesOf(`Dear ${ANN}`));
    const own = await send([ANN], 'Subject: alone\r\n', 'only for her');
    expect(await scene.erase(ANN)).toMatchObject({ status: 'completed' });
    const kept = await load(large);
    expect(shows(kept, ['annqz'])).toBe(false);
    expect(kept.toString().match(/KEPT/g)).toHaveLength(2);
    expect(kept.toString()).toMatch(/x{1500000}$/);
    // Within lines of base64 it cannot be separated: the others would get a part that cannot be decoded.
    await expect(load(hidden)).rejects.toThrow('no longer stored');
    await expect(load(short)).rejects.toThrow('no longer stored');
    await expect(load(own)).rejects.toThrow('no longer stored');
    expect(kept.toString()).toContain(`\r\nTo: erased@erased.invalid, ${BOB}\r\nSubject: for [erased]\r\n`);
    expect(await scene.tablesWith('annqz')).toEqual([]);
  });

  it('are sent again when the sender is called erased, and has a name, which no erased one has', async () => {
    const resend = (id: string) =>
      scene.delivery.core.get(EmailChangesService).resend(scene.tenant.as('live'), id, undefined);
    const raw = await send([ANN, BOB], 'Subject: Order\r\n', 'Hello\r\n', 'erased');
    const { id: plain } = await scene.send({ from: `Shop <erased@${scene.tenant.domain}>`, to: [ANN, BOB] });
    for (const id of [raw, plain]) expect(await resend(id)).toMatchObject({ accepted: { kind: 'accepted' } });
  });

  it('are not sent again when the person is the sender, nor is a plain email', async () => {
    const from = `clerkqz@${scene.tenant.domain}`;
    const raw = await send([ANN, BOB], 'Subject: Order\r\n', 'Hello\r\n', 'clerkqz');
    const { id: plain } = await scene.send({ from, to: [ANN, BOB] });
    const resend = (id: string) =>
      scene.delivery.core.get(EmailChangesService).resend(scene.tenant.as('live'), id, undefined);
    await resend(raw);
    await resend(plain);
    expect(await scene.erase(from)).toMatchObject({ status: 'completed' });
    for (const id of [raw, plain]) {
      await expect(resend(id)).rejects.toMatchObject({ code: 'email_not_resendable' });
    }
    // One that waits still goes out, and needs a valid sender.
    expect((await load(raw)).toString()).toMatch(`From: erased@${scene.tenant.domain}\r\n`);
  });
});

function linesOf(text: string): string {
  return Buffer.from(text).toString('base64').replace(/.{76}/g, '$&\r\n');
}
