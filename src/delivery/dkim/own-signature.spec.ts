import { generateKeyPairSync } from 'node:crypto';
import fc from 'fast-check';
import { message } from '../../../test/factories/composed-messages';
import { composeMessage } from '../message/compose-message';
import { findOwnSignature, type OwnSignature } from './own-signature';
import { signMessage } from './sign-message';

const own = generateKeyPairSync('rsa', { modulusLength: 2048 });
const strange = generateKeyPairSync('rsa', { modulusLength: 2048 });
const signedAt = new Date('2027-03-04T05:06:07Z');
const EMAIL_ID = '0192f3a0-1111-7abc-8def-0123456789ab';

const keyOf = ({ domain, selector }: OwnSignature) => {
  const isOurs = domain === 'mail.example' && selector === 's1';
  return Promise.resolve(isOurs ? own.publicKey.export({ type: 'spki', format: 'der' }).toString('base64') : undefined);
};

async function signedMail(privateKey = own.privateKey): Promise<string> {
  const bytes = await composeMessage(message());
  return (await signMessage(bytes, { domain: 'mail.example', selector: 's1', privateKey }, { signedAt })).toString();
}

async function found(text: string): Promise<string | undefined> {
  return (await findOwnSignature(Buffer.from(text, 'latin1'), keyOf))?.identity;
}

describe('findOwnSignature', () => {
  let mail: string;
  beforeAll(async () => {
    mail = await signedMail();
  });

  it('knows a mail of ours', async () => {
    expect(await findOwnSignature(Buffer.from(mail), keyOf)).toMatchObject({
      domain: 'mail.example',
      selector: 's1',
      signedAt,
      identity: EMAIL_ID,
    });
  });

  it.each<[string, (text: string) => string]>([
    [
      'with trace fields before it',
      (text) => `Received: from a\r\n by b; now\r\nReturn-Path: <x@y.example>\r\n${text}`,
    ],
    ['with a signature of a forwarder before ours', (text) => `DKIM-Signature: v=1; a=x; d=y.example\r\n${text}`],
    ['that has lost its last line end', (text) => text.trimEnd()],
    ['that was folded anew', (text) => text.replace('Subject: Hello', 'subject:\r\n Hello')],
    ['with empty lines at its end', (text) => `${text}\r\n\r\n`],
  ])('knows it %s', async (_what, change) => {
    expect(await found(change(mail))).toBe(EMAIL_ID);
  });

  it.each<[string, (text: string) => string]>([
    ['another body', (text) => text.replace('Good day', 'Bad day')],
    ['a body with more in it', (text) => `${text}more\r\n`],
    ['no body', (text) => text.slice(0, text.indexOf('\r\n\r\n') + 4)],
    ['another subject', (text) => text.replace('Subject: Hello', 'Subject: Hullo')],
    ['another Message-ID', (text) => text.replace('-0123456789ab@', '-0123456789ac@')],
    ['a second Message-ID', (text) => `Message-ID: <x@mail.example>\r\n${text}`],
    ['a second Subject', (text) => `Subject: x\r\n${text}`],
    ['a later time of signing', (text) => text.replace(/ t=\d+/, ' t=1899999999')],
    ['a body length', (text) => text.replace('v=1;', 'v=1; l=1;')],
    ['another selector', (text) => text.replace('s=s1;', 's=s2;')],
    ['another domain', (text) => text.replace('d=mail.example;', 'd=other.example;')],
    ['no signature', (text) => text.slice(text.indexOf('\r\nFrom: ') + 2)],
    ['an empty signature', (text) => text.replace(/b=\S+=*(\r\n \S+)*\r\nFrom/, 'b=\r\nFrom')],
    ['LF only', (text) => text.replaceAll('\r\n', '\n')],
    ['nothing in it', () => ''],
  ])('does not know one with %s', async (_what, change) => {
    expect(change(mail)).not.toBe(mail);
    expect(await found(change(mail))).toBeUndefined();
  });

  it('does not know one that another key has signed', async () => {
    expect(await found(await signedMail(strange.privateKey))).toBeUndefined();
  });

  it('looks at five signatures at most', async () => {
    let asked = 0;
    const field = mail.slice(0, mail.indexOf('\r\nFrom: ') + 2).replace('s=s1;', 's=s2;');
    const counting = (signature: OwnSignature) => {
      asked += 1;
      return keyOf(signature);
    };
    expect(await findOwnSignature(Buffer.from(field.repeat(50) + mail), counting)).toBeUndefined();
    expect(asked).toBe(5);
  });

  it('withstands any change of one place', async () => {
    const place = fc.record({ at: fc.nat({ max: mail.length - 1 }), text: fc.string({ maxLength: 3 }) });
    await fc.assert(
      fc.asyncProperty(place, fc.nat({ max: 40 }), async ({ at, text }, length) => {
        const changed = mail.slice(0, at) + text + mail.slice(at + length);
        expect([EMAIL_ID, undefined]).toContain(await found(changed));
      }),
      { numRuns: 500 },
    );
  });
});
