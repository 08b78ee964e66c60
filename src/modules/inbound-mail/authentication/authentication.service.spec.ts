import { createPrivateKey, generateKeyPairSync } from 'node:crypto';
import { Worker } from 'node:worker_threads';
import fc from 'fast-check';
import { dkimSign } from 'mailauth/lib/dkim/sign';
import { DnsResolver } from '../../../common/dns/dns-resolver';
import type { AppConfig } from '../../../config/config';
import { signMessage } from '../../../delivery/dkim/sign-message';
import { AuthenticationService } from './authentication.service';
import { AuthenticationLimits } from './authentication';

type Texts = Readonly<Record<string, readonly string[]>>;

/** TXT records from a table; everything else does not exist. `never` answers at the end of the look-up alone. */
class FakeResolver extends DnsResolver {
  constructor(private readonly texts: Texts | 'never') {
    super();
  }

  override async resolveTxt(name: string, { signal }: { signal?: AbortSignal } = {}) {
    if (this.texts === 'never') {
      await new Promise((resolve) => signal?.addEventListener('abort', resolve, { once: true }));
      return { kind: 'temporary', reason: 'aborted' } as const;
    }
    const records = this.texts[name.toLowerCase()];
    return records ? ({ kind: 'found', records } as const) : ({ kind: 'no-domain' } as const);
  }

  private readonly nothing = () => Promise.resolve({ kind: 'no-domain' } as const);
  override readonly resolveMx = this.nothing;
  override readonly resolveAddresses = this.nothing;
  override readonly resolveCname = this.nothing;
  override readonly resolvePtr = this.nothing;
}

const CONFIG = { delivery: { mailHost: 'mail.example.org' } } as unknown as AppConfig;
const CLIENT = { address: '192.0.2.1', helo: 'mx.sender.example', network: '192.0.2.1', sender: 'a@sender.example' };
const MESSAGE = Buffer.from('From: a@sender.example\r\nSubject: x\r\n\r\nx\r\n');

function serviceFor(texts: Texts | 'never', limits: Partial<AuthenticationLimits> = {}) {
  return new AuthenticationService(new FakeResolver(texts), Object.assign(new AuthenticationLimits(), limits), CONFIG);
}

function examine(texts: Texts | 'never', message: Buffer = MESSAGE, limits: Partial<AuthenticationLimits> = {}) {
  return serviceFor(texts, limits).examine(message, CLIENT);
}

describe('AuthenticationService', () => {
  // The thread starts with the first message.
  beforeAll(() => examine({}));

  it('finds nothing where nothing is published', async () => {
    expect(await examine({})).toMatchObject({ spf: { result: 'none' }, dkim: [], dmarc: { result: 'none' } });
  });

  it.each([
    ['192.0.2.1', 'pass', 'pass'],
    ['192.0.2.9', 'fail', 'fail'],
  ])('decides by SPF and DMARC: %s is a sender', async (address, spf, dmarc) => {
    const texts = {
      'sender.example': [`v=spf1 ip4:${address} -all`],
      '_dmarc.sender.example': ['v=DMARC1; p=reject'],
    };
    expect(await examine(texts)).toMatchObject({
      spf: { result: spf, domain: 'sender.example' },
      dmarc: { result: dmarc, domain: 'sender.example', policy: 'reject' },
    });
  });

  describe('of a signed message', () => {
    const { privateKey, publicKey } = generateKeyPairSync('rsa', {
      modulusLength: 2048,
      privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
      publicKeyEncoding: { type: 'spki', format: 'der' },
    });
    const SIGNED_BY = { signingDomain: 'sender.example', selector: 's1', privateKey };
    const PUBLISHED = {
      's1._domainkey.sender.example': [`v=DKIM1; k=rsa; p=${publicKey.toString('base64')}`],
      '_dmarc.sender.example': ['v=DMARC1; p=reject'],
    };
    const SPF = { 'sender.example': ['v=spf1 ip4:192.0.2.1 -all'] };

    const ourSignature = (message: Buffer) =>
      signMessage(
        message,
        { domain: 'sender.example', selector: 's1', privateKey: createPrivateKey(privateKey) },
        { signedAt: new Date(Date.now() - 60_000) },
      );

    /** @param maxBodyLength bytes of the body that are signed */
    async function signed({ maxBodyLength, addition = '' }: { maxBodyLength?: number; addition?: string }) {
      const { signatures } = await dkimSign(MESSAGE, {
        ...SIGNED_BY,
        // By itself it reads the clock twice, and the signature is wrong where a second ends in between.
        signTime: new Date(),
        signatureData: [{ ...SIGNED_BY, maxBodyLength }],
      });
      return Buffer.concat([Buffer.from(signatures), MESSAGE, Buffer.from(addition)]);
    }

    it.each([
      ['as it was signed', {}, 'pass', 'pass'],
      ['changed', { addition: 'more\r\n' }, 'fail', 'fail'],
      ['longer than what is signed of it', { maxBodyLength: 3, addition: 'more\r\n' }, 'policy', 'fail'],
    ])('sees a body that is %s', async (_, how, dkim, dmarc) => {
      const { dkim: results, dmarc: result } = await examine(PUBLISHED, await signed(how));
      expect(results).toEqual([{ result: dkim, domain: 'sender.example', selector: 's1' }]);
      expect(result).toEqual({ result: dmarc, domain: 'sender.example', policy: 'reject' });
    });

    it.each([
      ['raw UTF-8 with a byte of 0xA0', 'Subject: Voilà, à la carte, Россия'],
      ['one at its end', 'Subject: Voilà'],
      ['one where it is folded', 'Subject: à\r\n à\r\n\tà'],
      ['a form feed and a vertical tab', 'Subject: a\f\f b\v'],
    ])('passes one with %s', async (_, field) => {
      const message = Buffer.from(`From: a@sender.example\r\n${field}\r\n\r\nx\r\n`);
      const { dkim, dmarc } = await examine(PUBLISHED, await ourSignature(message));
      expect([dkim[0]?.result, dmarc.result]).toEqual(['pass', 'pass']);
    });

    it('canonicalizes every field as our signer does', async () => {
      const byte = fc.nat({ max: 255 }).filter((one) => one !== 0x0a && one !== 0x0d);
      const word = fc.array(fc.oneof(byte, fc.constantFrom(0x20, 0x09, 0x0b, 0x0c, 0xa0)), {
        minLength: 1,
        maxLength: 12,
      });
      const lines = fc.array(word, { minLength: 1, maxLength: 4 }).map((some) => some.map((one) => Buffer.from(one)));
      const property = fc.asyncProperty(lines, async (given) => {
        const folded = given.flatMap((line, at) => (at === 0 ? [line] : [Buffer.from('\r\n '), line]));
        const head = Buffer.from('From: a@sender.example\r\nSubject: x');
        const message = Buffer.concat([head, ...folded, Buffer.from('y\r\n\r\nx\r\n')]);
        const { dkim } = await examine(PUBLISHED, await ourSignature(message));
        expect(dkim[0]?.result).toBe('pass');
      });
      await fc.assert(property, { numRuns: 100 });
    });

    it('passes a message by SPF, whatever is signed of it', async () => {
      const message = await signed({ maxBodyLength: 3, addition: 'more\r\n' });
      expect((await examine({ ...PUBLISHED, ...SPF }, message)).dmarc.result).toBe('pass');
    });
  });

  it('passes each part of a long message to the thread alone, and leaves the message as it is', async () => {
    const post = jest.spyOn(Worker.prototype, 'postMessage');
    const message = Buffer.concat([MESSAGE, Buffer.alloc(3 * 1024 * 1024, 'a line of a long message\r\n')]);
    await examine({}, message);
    const values = post.mock.calls.map(([posted]) => (posted as { readonly value?: unknown }).value);
    const memory = values.filter((value) => value instanceof Uint8Array).map(({ buffer }) => buffer);
    expect(memory.length).toBeGreaterThan(10);
    // Those that were handed over have no bytes here any more.
    expect(memory.reduce((sum, { byteLength }) => sum + byteLength, 0)).toBeLessThanOrEqual(message.length);
    expect(message.subarray(0, MESSAGE.length)).toEqual(MESSAGE);
  });

  it('ends in time when the DNS does not answer', async () => {
    const result = await examine('never', MESSAGE, { authenticationMs: 20 });
    expect(result).toEqual({ spf: { result: 'temperror' }, dkim: [], dmarc: { result: 'temperror' } });
  });

  it('leaves others their results while the zones of some senders do not answer', async () => {
    const resolver = new FakeResolver({ 'sender.example': ['v=spf1 ip4:192.0.2.1 -all'] });
    const silent = new FakeResolver('never');
    const resolveTxt = resolver.resolveTxt.bind(resolver);
    resolver.resolveTxt = (name, asked) => (name.includes('slow') ? silent : { resolveTxt }).resolveTxt(name, asked);
    const service = new AuthenticationService(
      resolver,
      Object.assign(new AuthenticationLimits(), { authenticationMs: 500 }),
      CONFIG,
    );
    const slow = Array.from({ length: 20 }, (_, at) => {
      const message = Buffer.from(`From: a@slow${at}.example\r\n\r\nx\r\n`);
      return service.examine(message, { ...CLIENT, network: `198.51.100.${at}`, sender: `a@slow${at}.example` });
    });
    expect(await service.examine(MESSAGE, CLIENT)).toMatchObject({ spf: { result: 'pass' } });
    const results = await Promise.all(slow);
    expect(new Set(results.map(({ spf }) => spf.result))).toEqual(new Set(['temperror']));
  });

  const UNEXAMINED = { spf: { result: 'permerror' }, dkim: [], dmarc: { result: 'permerror' } };
  const SIGNATURE = 'DKIM-Signature: v=1; a=rsa-sha256; d=sender.example; s=x; h=from; bh=x; b=x\r\n';
  const lines = (text: string, count: number, end = '\r\n\r\n') =>
    `From: a@sender.example\r\nX: y${text.repeat(count)}${end}`;

  it.each([
    ['signatures', SIGNATURE.repeat(21) + MESSAGE.toString()],
    ['signatures with white space before the colon', SIGNATURE.replace(':', ' \t:').repeat(21) + MESSAGE.toString()],
    ['signatures folded before the colon', SIGNATURE.replace(':', '\r\n :').repeat(21) + MESSAGE.toString()],
    ['seals of other hops', 'ARC-Seal: i=1\r\nARC-Message-Signature: i=1\r\n'.repeat(11) + MESSAGE.toString()],
    ['lines in one field', lines('\r\n x', 11_000)],
    ['lines, some more than allowed', lines('\r\n x', 1_000)],
    ['lines that end in LF', lines('\n x', 1_000, '\n\nbody')],
    ['bytes in one line', lines('x', 50 * 1024)],
    ['bytes without an end of the header', 'x'.repeat(50 * 1024)],
    ['bytes in one line of its body', `${MESSAGE.toString()}${'x '.repeat(70_000)}\r\n`],
    ['bytes in one line behind others', `${MESSAGE.toString()}${'x\r\n'.repeat(50_000)}${' '.repeat(140_000)}`],
    ['lines, and a body', lines('\r\n x', 1_000, `\r\n\r\n${'x'.repeat(100_000)}`)],
  ])('looks at no message with too many %s', async (_what, message) => {
    expect(await examine({}, Buffer.from(message))).toEqual(UNEXAMINED);
  });

  it.each([
    ['as many lines as allowed', lines('\r\n x', 998)],
    ['as many signatures', SIGNATURE.repeat(20) + MESSAGE.toString()],
    ['long lines in its body', `${MESSAGE.toString()}${`${'x '.repeat(64_000)}\r\n`.repeat(3)}`],
    ['a long body', MESSAGE.toString() + 'x\r\n'.repeat(50_000)],
    ['a long body after LF', `From: a@sender.example\n\n${'DKIM-Signature: x\n'.repeat(30)}${'x\n'.repeat(50_000)}`],
    ['no header', `\r\n\r\n${'x\r\n'.repeat(50_000)}`],
    ['nothing', ''],
  ])('looks at one with %s', async (_what, message) => {
    expect(await examine({}, Buffer.from(message))).toMatchObject({ spf: { result: 'none' } });
  });
});
