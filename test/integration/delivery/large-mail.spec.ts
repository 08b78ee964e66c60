import { randomBytes } from 'node:crypto';
import { ByteBudget } from '../../../src/delivery/compose/byte-budget';
import { MessageSource } from '../../../src/delivery/ports/sources';
import { PortRouter } from '../../doubles/port-router';
import { ScriptedSmtpServer } from '../../doubles/scripted-smtp-server';
import { SmtpSink } from '../../doubles/smtp-sink';
import type { Tenant } from '../../factories/tenants';
import { createSigningTenant, DeliveryScene } from '../../setup/delivery-scene';
import { waitFor } from '../../setup/wait-for';

const MIB = 1024 * 1024;
const attachment = (bytes: number) => ({ filename: 'a.bin', content: Buffer.alloc(bytes, 7).toString('base64') });

describe('large mail delays only its tenant', () => {
  let scene: DeliveryScene;
  let other: Tenant;
  let sink: SmtpSink;
  let deaf: ScriptedSmtpServer;

  beforeAll(async () => {
    scene = await DeliveryScene.open();
    other = await createSigningTenant(scene.core, 'other.example');
  });
  beforeEach(async () => {
    sink = await SmtpSink.start({ countOnly: true });
    // Asks for the message and reads none of it.
    deaf = await ScriptedSmtpServer.start(async (peer) => {
      await peer.greet(['PIPELINING']);
      await peer.grantEnvelope();
      peer.stopReading();
      await peer.untilGone();
    });
  });
  afterEach(async () => {
    await scene.clear();
    await sink.stop();
    await deaf.stop();
  });
  afterAll(() => scene.close());

  const start = (env: Record<string, string> = {}) =>
    scene.startWorker({
      hopPort: 1,
      env: { DRAIN_SECONDS: '1', ...env },
      router: new PortRouter((destination) => ({ port: destination === 'deaf.example' ? deaf.port : sink.port })),
    });

  // As two of 17 MiB are to the usual budget: each takes nearly half of it while it is composed.
  it('two large mails to a server that reads nothing hold up neither large nor small mail of another tenant', async () => {
    const attachments = [attachment(6 * MIB)];
    for (const localPart of ['a', 'b']) await scene.accept({ to: [`${localPart}@deaf.example`], attachments });
    const worker = await start({ WORKER_MEMORY_MB: '90' });
    await waitFor(() => deaf.received.includes('DATA'), { what: 'the first large mail to be stuck' });
    const large = await scene.accept({ to: ['ada@prompt.example'], attachments }, 'live', other);
    const small = await scene.accept({ to: ['ada@prompt.example'] }, 'live', other);
    await scene.readWhenStatus(small, 'delivered');
    await scene.readWhenStatus(large, 'delivered');
    // Nor is the tenant's own small mail held up by its large mail.
    await scene.readWhenStatus(await scene.accept({ to: ['ada@prompt.example'] }), 'delivered');
    const budget = worker.get(ByteBudget);
    expect(budget.peak).toBeGreaterThan(24 * MIB);
    expect(budget.peak).toBeLessThanOrEqual(budget.limit);
  });

  it('loads bodies by bytes: small ones as far as they fit, in the order of the claim', async () => {
    const worker = await scene.startWorker({ hopPort: 1, isRunning: false });
    const kib = (count: number) => scene.accept({ text: 'x'.repeat(count * 1024) });
    const ids = [await kib(30), await kib(200), await kib(30), await kib(30), await kib(1)];
    ids.push(await scene.accept({ text: 'small', attachments: [attachment(10)] }));
    const { organizationId } = scene.tenant;
    const keys = ids.map((emailId) => ({ organizationId, mode: 'live' as const, emailId }));
    const messages = await worker.get(MessageSource).load(keys, 75 * 1024);
    const seen = ids.map((id) => messages.get(id)).map((one) => [one?.isBodyLoaded, one?.bodyBytes, one?.text?.length]);
    expect(seen).toEqual([
      [true, 30_720, 30_720],
      [false, 204_800, undefined],
      [true, 30_720, 30_720],
      // What comes after one that does not fit does not fit either: the sum counts all small ones.
      [false, 30_720, undefined],
      [false, 1_024, undefined],
      [false, 5, undefined],
    ]);
    expect(await worker.get(MessageSource).loadBody(keys[1]!)).toEqual({ text: 'x'.repeat(204_800) });
  });

  it('loads attachments of megabytes part by part, and whole', async () => {
    const worker = await scene.startWorker({ hopPort: 1, isRunning: false });
    const contents = [randomBytes(5 * MIB + 3), Buffer.from('small'), randomBytes(2 * MIB)];
    const attachments = contents.map((content, n) => ({ filename: `${n}.bin`, content: content.toString('base64') }));
    const emailId = await scene.accept({ text: 'x', attachments });
    const key = { organizationId: scene.tenant.organizationId, mode: 'live' as const, emailId };
    const loaded = await worker.get(MessageSource).loadAttachments(key);
    expect(loaded.map(({ filename }) => filename)).toEqual(['0.bin', '1.bin', '2.bin']);
    expect(loaded.map(({ content }, n) => content.equals(contents[n]!))).toEqual([true, true, true]);
  });

  it('loads bodies of megabytes part by part, and whole, wherever their characters end', async () => {
    const worker = await scene.startWorker({ hopPort: 1, isRunning: false });
    const KIB = 1024;
    // Characters of one to four bytes, at any place around the ends of parts.
    const texts = ['é', '水', '😀'].flatMap((sign) =>
      Array.from({ length: sign.length + 3 }, (_, shift) => `${'x'.repeat(shift)}${sign.repeat(200 * KIB)}`),
    );
    const keys: Parameters<MessageSource['loadBody']>[0][] = [];
    for (const [n, text] of texts.entries()) {
      const emailId = await scene.accept(n % 2 === 0 ? { html: text, text: 'short' } : { text, html: '<p>short</p>' });
      keys.push({ organizationId: scene.tenant.organizationId, mode: 'live', emailId });
    }
    const decode = jest.spyOn(Buffer.prototype, 'toString');
    const decoded = () => Math.max(...decode.mock.calls.map(([, start, end]) => Number(end ?? 0) - Number(start ?? 0)));
    for (const [n, key] of keys.entries()) {
      const { html, text } = await worker.get(MessageSource).loadBody(key);
      expect((n % 2 === 0 ? html : text) === texts[n]).toBe(true);
      expect(n % 2 === 0 ? text : html).toMatch(/short/);
    }
    expect(decode).toHaveBeenCalled();
    // Of all that the driver decodes at once.
    expect(decoded()).toBeLessThanOrEqual(256 * KIB + 3);
  });

  it('html counts as well: mails of 5 MiB take turns', async () => {
    const html = '<p>Seventy characters, more or less, of a newsletter without an end</p>\n'.repeat(72_000);
    const mails = Array.from({ length: 8 }, (_, n) => scene.accept({ to: [`r${n}@prompt.example`], html, text: 'x' }));
    const ids = await Promise.all(mails);
    const worker = await start({ WORKER_MEMORY_MB: '64' });
    for (const id of ids) await scene.readWhenStatus(id, 'delivered');
    const budget = worker.get(ByteBudget);
    expect(budget.peak).toBeGreaterThan(5 * MIB);
    expect(budget.peak).toBeLessThanOrEqual(budget.limit);
    await waitFor(() => budget.inUse === 0, { what: 'the messages to be let go' });
  });
});
