import { generateKeyPairSync } from 'node:crypto';
import fc from 'fast-check';
import { dkimVerify } from 'mailauth/lib/dkim/verify';
import { composeMessage } from '../message/compose-message';
import type { SigningKey } from '../ports/sources';
import { signMessage } from './sign-message';
import { anyCharacter } from '../../../test/factories/any-character';

const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
const key: SigningKey = { domain: 'mail.example', selector: 's1', privateKey };
const signedAt = new Date('2027-03-04T05:06:07.890Z');
const HEADER =
  'From: "Ann" <ann@mail.example>\r\nTo: Bob <bob@b.example>\r\nSubject: Hello\r\n there\r\n' +
  'Date: Thu, 04 Mar 2027 05:06:07 +0000\r\nMessage-ID: <1@mail.example>\r\nMIME-Version: 1.0\r\n' +
  'Content-Type: text/plain; charset=utf-8\r\n';

/** What mailauth finds, an implementation that shares nothing with ours. */
async function verify(message: Buffer, at = signedAt) {
  const record = `v=DKIM1; k=rsa; p=${publicKey.export({ type: 'spki', format: 'der' }).toString('base64')}`;
  const resolver = (name: string) => Promise.resolve(name === 's1._domainkey.mail.example' ? [[record]] : []);
  const { results } = await dkimVerify(message, { resolver, curTime: at });
  expect(results).toHaveLength(1);
  return results[0]!.status.result;
}

function withBody(body: Buffer | string, header = HEADER): Buffer {
  return Buffer.concat([Buffer.from(`${header}\r\n`), Buffer.from(body)]);
}

async function signed(message: Buffer): Promise<Buffer> {
  return signMessage(message, key, { signedAt });
}

function signatureOf(message: Buffer): string {
  return message.toString('latin1').split(/\r\n(?![\t ])/)[0]!;
}

/** Bodies of the pieces that canonicalization is about; a body of ours has no bare CR or LF. */
const piece = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.constantFrom(
      ' ',
      '\t',
      '\r\n',
      '\r\n\r\n',
      ' \r\n',
      '.',
      '\r\n.\r\n',
      'a',
      'word',
      '\0',
      '\x0b',
      'é',
      '🦄',
    ),
  },
  { weight: 1, arbitrary: fc.string({ unit: anyCharacter, maxLength: 20 }).map((text) => text.replace(/[\r\n]/g, '')) },
  { weight: 1, arbitrary: fc.constantFrom('x'.repeat(998), ' '.repeat(300), '\r\n'.repeat(50)) },
);
const pieces = fc.array(piece, { maxLength: 30 }).map((all) => all.join(''));
/** mailauth keeps a space at the very end of a body without a last line end; composed messages always have one. */
const body = pieces.map((text) => (/[\t ]$/.test(text) ? `${text}\r\n` : text));

describe('signMessage', () => {
  it('is accepted by an independent verifier for any body', async () => {
    await fc.assert(
      fc.asyncProperty(body, async (text) => {
        expect(await verify(await signed(withBody(text)))).toBe('pass');
      }),
      { numRuns: 400 },
    );
  });

  it('is accepted for bodies of random bytes', async () => {
    const bytes = fc.uint8Array({ maxLength: 400 }).map((array) => array.filter((byte) => byte !== 13 && byte !== 10));
    await fc.assert(
      fc.asyncProperty(bytes, async (binary) => {
        expect(await verify(await signed(withBody(Buffer.from([...binary, 13, 10]))))).toBe('pass');
      }),
    );
  });

  it.each([
    ['an empty body', ''],
    ['empty lines only', '\r\n\r\n\r\n'],
    ['white space only', ' \t \r\n  '],
    ['no final line end', 'text'],
    ['white space at the end', 'text \t'],
    ['many empty lines at the end', `text${'\r\n'.repeat(200)}`],
    ['a long line', 'x'.repeat(100_000)],
  ])('is accepted for %s', async (_, text) => {
    expect(await verify(await signed(withBody(text)))).toBe('pass');
  });

  it('is accepted for large bodies, whatever lies at the edges of the slices', async () => {
    const unit = ' word\t\r\n\r\n';
    for (let shift = 0; shift < unit.length; shift += 1) {
      const text = 'x'.repeat(shift) + unit.repeat(20_000) + '\r\n'.repeat(70_000) + (shift % 2 === 0 ? '' : ' end');
      expect(await verify(await signed(withBody(text)))).toBe('pass');
    }
  });

  it('is accepted for what the composer gives', async () => {
    const text = fc.string({ unit: anyCharacter, maxLength: 200 });
    await fc.assert(
      fc.asyncProperty(text, text, text, fc.boolean(), async (subject, html, name, hasAttachment) => {
        const composed = await composeMessage({
          organizationId: 'org',
          mode: 'live',
          emailId: '0192f3a0-1111-7abc-8def-0123456789ab',
          domainId: 'domain',
          date: signedAt,
          from: { email: 'ann@mail.example', name },
          to: [{ email: 'jörg@b.example', name }],
          cc: [{ email: 'c@b.example' }],
          replyTo: [],
          subject,
          html,
          bodyBytes: html.length,
          isBodyLoaded: true,
          trackOpens: false,
          trackClicks: false,
          headers: { 'List-Unsubscribe': '<https://mail.example/u>', 'X-Any': name },
          attachmentBytes: 1,
          attachments: hasAttachment ? [{ filename: name, contentType: 'text/plain', content: Buffer.from(html) }] : [],
        });
        expect(await verify(await signed(composed))).toBe('pass');
      }),
      { numRuns: 300 },
    );
  });

  it('is accepted for any header', async () => {
    const value = fc.array(fc.constantFrom(' ', '\t', '\r\n ', '\r\n\t', 'a', 'Ünï', ':', ';', '  '), {
      maxLength: 12,
    });
    const name = fc.constantFrom(
      'Cc',
      'X-Any',
      'List-Unsubscribe',
      'list-unsubscribe-post',
      'SUBJECT',
      'Reply-To',
      'References',
    );
    const extra = fc.array(fc.tuple(name, value), { maxLength: 6 });
    await fc.assert(
      fc.asyncProperty(extra, async (fields) => {
        const header = fields.map(([field, words]) => `${field}:x${words.join('')}x\r\n`).join('');
        expect(await verify(await signed(withBody('text\r\n', header + HEADER)))).toBe('pass');
      }),
      { numRuns: 200 },
    );
  });

  it.each([
    ['From: Eve <eve@evil.example>'],
    ['Subject: Another'],
    ['To: eve@evil.example'],
    ['Date: Fri, 05 Mar 2027 05:06:07 +0000'],
    ['Reply-To: eve@evil.example'],
    ['Message-ID: <2@mail.example>'],
    ['MIME-Version: 1.0'],
    ['Content-Type: text/html'],
    ['Cc: eve@evil.example'],
    ['List-Unsubscribe: <https://evil.example/>'],
  ])('no longer verifies with another %s before or after', async (field) => {
    const original = withBody('text\r\n', `Cc: c@b.example\r\nList-Unsubscribe: <https://mail.example/>\r\n${HEADER}`);
    const message = (await signed(original)).toString('latin1');
    expect(await verify(Buffer.from(`${field}\r\n${message}`, 'latin1'))).toBe('fail');
    expect(await verify(Buffer.from(message.replace('\r\n\r\n', `\r\n${field}\r\n\r\n`), 'latin1'))).toBe('fail');
  });

  it('no longer verifies when the body or a signed field has changed', async () => {
    const message = (await signed(withBody('text\r\n'))).toString('latin1');
    for (const [from, to] of [
      ['text\r\n', 'tExt\r\n'],
      ['text\r\n', 'text\r\nmore\r\n'],
      ['Hello', 'Hallo'],
      ['ann@', 'eve@'],
      ['text/plain', 'text/html'],
    ] as const) {
      expect(await verify(Buffer.from(message.replace(from, to), 'latin1'))).not.toBe('pass');
    }
  });

  it('survives what relays may change: white space, folding and the case of names', async () => {
    const message = (await signed(withBody('some text\r\n'))).toString('latin1');
    const relayed = message
      .replace('Subject: Hello\r\n there', 'SUBJECT:   Hello there  ')
      .replace('some text', 'some  \ttext ');
    expect(await verify(Buffer.from(`Received: from a by b; now\r\n${relayed}\r\n\r\n`, 'latin1'))).toBe('pass');
  });

  it('gives the same bytes again, names its time and its end, and never limits the body', async () => {
    const message = withBody('text\r\n');
    const first = await signed(message);
    expect(await signed(message)).toEqual(first);
    expect(await signMessage(message, key, { signedAt, isUrgent: true })).toEqual(first);
    expect(first.subarray(-message.length)).toEqual(message);
    const signature = signatureOf(first);
    const time = Math.floor(signedAt.getTime() / 1_000);
    expect(signature).toContain(`t=${time}; x=${time + 604_800};`);
    expect(signature).toMatch(/^DKIM-Signature: v=1; a=rsa-sha256; c=relaxed\/relaxed;\r\n d=mail.example; s=s1;/);
    expect(signature).not.toMatch(/[; ]l=/);
    for (const line of signature.split('\r\n')) expect(line.length).toBeLessThanOrEqual(78);
  });

  it('signs each important field once more than it occurs, and what is present of the rest', async () => {
    const message = await signed(withBody('', `List-Unsubscribe: <x>\r\nList-Unsubscribe-Post: y\r\n${HEADER}`));
    const names = /h=([^;]*);/.exec(signatureOf(message))![1]!.replace(/\s/g, '').split(':');
    const count = (name: string) => names.filter((other) => other === name).length;
    for (const name of ['From', 'To', 'Subject', 'Date', 'Message-ID', 'MIME-Version', 'Content-Type']) {
      expect(count(name)).toBe(2);
    }
    for (const name of ['List-Unsubscribe', 'List-Unsubscribe-Post']) expect(count(name)).toBe(2);
    expect(count('Reply-To')).toBe(1);
    expect(count('Cc')).toBe(0);
  });

  it('leaves the event loop free on 30 MB', async () => {
    const message = withBody(`${'A'.repeat(76)}\r\n`.repeat(400_000));
    let turns = 0;
    const timer = setInterval(() => (turns += 1), 1);
    const result = await signed(message);
    clearInterval(timer);
    expect(result.length).toBeGreaterThan(message.length);
    expect(turns).toBeGreaterThan(5);
  });

  it('refuses other keys and bytes that are no message', async () => {
    const other = { ...key, privateKey: generateKeyPairSync('ed25519').privateKey };
    await expect(signMessage(withBody('x'), other, { signedAt })).rejects.toThrow('Only RSA keys');
    await expect(signed(Buffer.from('From: a@b.example\r\n'))).rejects.toThrow('no end of header');
    await expect(signed(Buffer.from('From: a@b.example\r\nno field\r\n\r\n'))).rejects.toThrow('without a colon');
  });
});
