import { spawn, spawnSync } from 'node:child_process';
import { SmtpSink } from '../../doubles/smtp-sink';
import { DeliveryScene } from '../../setup/delivery-scene';

/** Of the 5 with which SpamAssassin calls a mail spam; what is above tells of something that we do, not of the sender's words. */
const MOST = 0.6;
const isInstalled = spawnSync('spamassassin', ['--version']).status === 0;

const PARAGRAPH =
  'Your order 4711 has left our warehouse this morning and will be with you on Thursday. You can follow the parcel on the page ' +
  'of the carrier, and change the day of its delivery there. ';
const HTML = `<html><body><p>${PARAGRAPH}</p><p>${PARAGRAPH} <a href="https://shop.example/orders/4711">Your order</a></p></body></html>`;

/** What each mail of ours has that may cost points. */
const MAILS: Readonly<Record<string, Record<string, unknown>>> = {
  'plain text': { text: PARAGRAPH },
  html: { text: PARAGRAPH, html: HTML },
  'html alone': { text: undefined, html: HTML },
  bulk: { text: PARAGRAPH, html: HTML, category: 'bulk' },
  'with an attachment': {
    text: PARAGRAPH,
    attachments: [{ filename: 'invoice.pdf', content: Buffer.from('%PDF-1.4\n%%EOF\n').toString('base64') }],
  },
  'with tracking': { text: PARAGRAPH, html: HTML, tracking: { opens: true, clicks: true } },
  'in UTF-8': {
    subject: 'Grüße aus Zürich 😀',
    text: `Schöne Grüße – ${PARAGRAPH}`,
    html: HTML.replace('Your', 'Ihre größte'),
  },
  'with long lines': { text: PARAGRAPH.repeat(40), html: HTML.replace(PARAGRAPH, PARAGRAPH.repeat(40)) },
};

/** By local rules alone: no look-up leaves this machine. The time of the mail is that of the test. */
function scoreOf(message: Buffer): Promise<{ score: number; rules: string }> {
  return new Promise((resolve, reject) => {
    const child = spawn('spamassassin', ['-L', '-t', '-x']);
    let output = '';
    child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
    child.on('error', reject);
    child.on('close', () => {
      const [, points = 'NaN', rules = ''] =
        /^X-Spam-Status: \w+, score=(-?[\d.]+)[\s\S]*?tests=([\s\S]*?)\s+autolearn/m.exec(output) ?? [];
      resolve({ score: Number(points), rules: rules.replace(/\s+/g, '') });
    });
    child.stdin.end(message);
  });
}

/** As the receiver's own server hands it on: it notes where the mail came from. */
const received = (content: Buffer): Buffer =>
  Buffer.concat([
    Buffer.from(
      `Received: from mail.example.org (mail.example.org [8.8.4.1])\r\n\tby mx.x.example with ESMTPS id 1;\r\n\t${new Date().toUTCString().replace('GMT', '+0000')}\r\n`,
    ),
    content,
  ]);

describe('what SpamAssassin’s local rules think of our mail', () => {
  if (!isInstalled) {
    it('is not measured here: spamassassin is not installed', () => {
      expect(isInstalled).toBe(false);
    });
    return;
  }

  it(
    `is no worse than ${MOST}, whatever kind of mail it is`,
    async () => {
      const scene = await DeliveryScene.open();
      const sink = await SmtpSink.start();
      const names = Object.keys(MAILS);
      for (const [n, name] of names.entries()) {
        await scene.accept({ subject: 'Your order is on its way', ...MAILS[name], to: [`r${n}@x.example`] });
      }
      await scene.startWorker({
        hopPort: sink.port,
        isFinalHop: true,
        env: { PUBLIC_URL: 'https://mail.example.org' },
      });
      await sink.waitForMessages(names.length);
      await scene.close();
      await sink.stop();
      const scores: Record<string, { score: number; rules: string }> = {};
      for (const { recipients, content } of sink.messages) {
        const n = Number(/^r(\d+)@/.exec(recipients[0] ?? '')?.[1]);
        scores[names[n] ?? ''] = await scoreOf(received(content));
      }
      expect(Object.keys(scores).sort()).toEqual([...names].sort());
      const tooHigh = Object.entries(scores).filter(([, { score }]) => !(score <= MOST));
      expect(tooHigh).toEqual([]);
    },
    // SpamAssassin reads all its rules for each mail.
    180_000,
  );
});
