import { spawn, spawnSync } from 'node:child_process';
import { SmtpSink } from '../../doubles/smtp-sink';
import { describeWhere } from '../../setup/describe-where';
import { DeliveryScene } from '../../setup/delivery-scene';

/** Of the 5 at which SpamAssassin classifies a mail as spam; a higher score is caused by the service, not by the sender's words. */
const MOST = 0.6;

const PARAGRAPH =
  'Your order 4711 has left our warehouse this morning and will be with you on Thursday. You can follow the parcel on the page ' +
  'of the carrier, and change the day of its delivery there. ';
const link = '<a href="https://shop.example/orders/4711">Your order</a>';
const htmlOf = (words: string) => `<html><body><p>${words}</p><p>${link}</p></body></html>`;
const both = (words: string) => ({ text: `${words}\n\nYour order`, html: htmlOf(words) });

/** What each mail of ours has that may cost points. */
const MAILS: Readonly<Record<string, Record<string, unknown>>> = {
  'plain text': { text: PARAGRAPH },
  html: both(PARAGRAPH),
  'html alone': { text: undefined, html: htmlOf(PARAGRAPH) },
  bulk: { ...both(PARAGRAPH), category: 'bulk' },
  'with an attachment': {
    text: PARAGRAPH,
    attachments: [{ filename: 'invoice.pdf', content: Buffer.from('%PDF-1.4\n%%EOF\n').toString('base64') }],
  },
  'with tracking': { ...both(PARAGRAPH), tracking: { opens: true, clicks: true } },
  'bulk with tracking, long': {
    ...both(PARAGRAPH.repeat(9)),
    category: 'bulk',
    tracking: { opens: true, clicks: true },
  },
  'in UTF-8': { subject: 'Grüße aus Zürich 😀', ...both(`Schöne Grüße – Ihre größte Bestellung: ${PARAGRAPH}`) },
  'with long lines': both(PARAGRAPH.repeat(40)),
};
const NAMES = Object.keys(MAILS);

interface Score {
  readonly score: number;
  readonly rules: string;
}

/** One mail of a mailbox, as the receiver's own server hands it on: it notes where the mail came from. */
function inMailbox(content: Buffer): string {
  const date = new Date().toUTCString().replace('GMT', '+0000');
  const received = `Received: from mail.example.org (mail.example.org [8.8.4.1])\n\tby mx.x.example with ESMTPS id 1; ${date}\n`;
  const lines = content
    .toString('latin1')
    .replaceAll('\r\n', '\n')
    .replaceAll(/^From /gm, '>From ');
  return `From bounce@mail.example.org Thu Jan  1 00:00:00 2026\n${received}${lines}\n`;
}

/** By local rules alone, no look-up leaves this machine; all mails at once, as reading the rules takes longest. */
async function scoresOf(mails: readonly Buffer[]): Promise<Map<string, Score>> {
  const child = spawn('spamassassin', ['-L', '-t', '-x', '--mbox']);
  let output = '';
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString('latin1')));
  const ended = new Promise((resolve, reject) => child.on('error', reject).on('close', resolve));
  child.stdin.end(mails.map(inMailbox).join('\n'), 'latin1');
  await ended;
  const line = /^X-Spam-Status: \w+, score=(-?[\d.]+)[\s\S]*?tests=([\s\S]*?)\s+autolearn[\s\S]*?^To:.*?\br(\d+)@/gm;
  return new Map(
    [...output.matchAll(line)].map(([, score, rules = '', n]) => [
      NAMES[Number(n)] ?? '',
      { score: Number(score), rules: rules.replace(/\s+/g, '') },
    ]),
  );
}

const isInstalled = spawnSync('spamassassin', ['--version']).status === 0;

function suite(): void {
  let scores: Map<string, Score>;

  beforeAll(async () => {
    const scene = await DeliveryScene.open();
    const sink = await SmtpSink.start();
    for (const [n, name] of NAMES.entries()) {
      await scene.accept({ subject: 'Your order is on its way', ...MAILS[name], to: [`r${n}@x.example`] });
    }
    await scene.startWorker({ hopPort: sink.port, isFinalHop: true, env: { PUBLIC_URL: 'https://mail.example.org' } });
    await sink.waitForMessages(NAMES.length);
    await scene.close();
    await sink.stop();
    scores = await scoresOf(sink.messages.map(({ content }) => content));
  });

  it.each(NAMES)(`is no worse than ${MOST} of 5: %s`, (name) => {
    const found = scores.get(name);
    expect(found).toEqual({ score: expect.any(Number), rules: expect.any(String) });
    expect([found, (found?.score ?? Infinity) <= MOST]).toEqual([found, true]);
  });
}

describeWhere(isInstalled, 'what SpamAssassin’s local rules think of our mail', suite, 'SpamAssassin is not installed');
