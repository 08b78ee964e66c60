import { createHmac, randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { anyDeliveryTarget, DELIVERY_TARGET } from '../../../test/factories/delivery-targets';
import { deriveEncryptionKey } from '../../common/encryption/encryption';
import { MAX_URL_LENGTH, RecipientLink } from './recipient-link';
import type { RecipientLinkKind, RecipientLinkTarget } from './recipient-link';
import { anyCharacter } from '../../../test/factories/any-character';

type PlainKind = Exclude<RecipientLinkKind, 'click'>;
const KINDS: readonly RecipientLinkKind[] = ['unsubscribe', 'open', 'click'];
const master = randomBytes(32);
const links = new RecipientLink(master);
const target: RecipientLinkTarget = DELIVERY_TARGET;
const anyTarget: fc.Arbitrary<RecipientLinkTarget> = anyDeliveryTarget;
const anyPlainKind = fc.constantFrom<PlainKind>('unsubscribe', 'open');
const anyUrl = fc.oneof(
  fc.webUrl({ withQueryParameters: true, withFragments: true }),
  fc
    .integer({ min: 1, max: MAX_URL_LENGTH })
    .map((length) => 'https://a.example/'.padEnd(length, 'x').slice(0, length)),
);
/** Signed as the service signs. */
const genuine = (body: Buffer): string => {
  const mac = createHmac('sha256', deriveEncryptionKey(master, 'recipient-link').secret).update(body).digest();
  return Buffer.concat([body, mac.subarray(0, 16)]).toString('base64url');
};
const anyClick = fc.record({ target: anyTarget, url: anyUrl }).map(({ target, url }) => ({ ...target, url }));

describe('RecipientLink', () => {
  it('opens what it issued, the same each time, as the kind that it is and as no other', () => {
    fc.assert(
      fc.property(anyTarget, anyPlainKind, (any, kind) => {
        const token = links.issue(kind, any);
        expect(token).toMatch(/^[A-Za-z0-9_-]{56}$/);
        expect(links.issue(kind, any)).toBe(token);
        for (const asked of KINDS) expect(links.open(asked, token)).toEqual(asked === kind ? any : undefined);
      }),
    );
  });

  it('hands on the address of a click as it was', () => {
    fc.assert(
      fc.property(anyClick, (any) => {
        const token = links.issue('click', any);
        expect(token).toMatch(/^[A-Za-z0-9_-]{58,2723}$/);
        expect(links.issue('click', any)).toBe(token);
        for (const asked of KINDS) expect(links.open(asked, token)).toEqual(asked === 'click' ? any : undefined);
      }),
    );
  });

  it.each([
    ['unsubscribe', (any: RecipientLinkTarget) => links.issue('unsubscribe', any)],
    ['click', (any: RecipientLinkTarget) => links.issue('click', { ...any, url: 'https://a.example/?b=c' })],
  ])('refuses a token of kind %s with any one bit changed', (_kind, issue) => {
    fc.assert(
      fc.property(anyTarget, (any) => {
        const bytes = Buffer.from(issue(any), 'base64url');
        for (let bit = 0; bit < bytes.length * 8; bit += 1) {
          const forged = Buffer.from(bytes);
          forged[bit >> 3]! ^= 1 << (bit & 7);
          for (const kind of KINDS) expect(links.open(kind, forged.toString('base64url'))).toBeUndefined();
        }
      }),
      { numRuns: 10 },
    );
  });

  it('refuses an address that was lengthened, cut or exchanged', () => {
    const bytes = Buffer.from(links.issue('click', { ...target, url: 'https://a.example/' }), 'base64url');
    const [head, mac] = [bytes.subarray(0, 26), bytes.subarray(-16)];
    for (const url of ['https://a.example', 'https://a.example/x', 'https://b.example/', '']) {
      const forged = Buffer.concat([head, Buffer.from(url), mac]);
      for (const kind of KINDS) expect(links.open(kind, forged.toString('base64url'))).toBeUndefined();
    }
  });

  it('refuses any other character at any place, other lengths and other text', () => {
    const token = links.issue('unsubscribe', target);
    for (let index = 0; index < token.length; index += 1) {
      for (const other of 'ABYZabyz0189-_+/=. é%') {
        const forged = token.slice(0, index) + other + token.slice(index + 1);
        if (forged !== token) expect(links.open('unsubscribe', forged)).toBeUndefined();
      }
    }
    for (const other of [token.slice(0, -1), `${token}A`, `${token}=`, `${token}\n`, '']) {
      expect(links.open('unsubscribe', other)).toBeUndefined();
    }
    fc.assert(
      fc.property(fc.string({ unit: anyCharacter, maxLength: 80 }), (text) =>
        KINDS.every((kind) => links.open(kind, text) === undefined),
      ),
    );
  });

  it('has the bytes that mail in inboxes has: they can never change', () => {
    const one = { organizationOrdinal: 258, emailId: '01890a5d-ac96-774b-bcce-b302099a8057', position: 3 } as const;
    const keyId = Buffer.alloc(4);
    keyId.writeUInt32BE(deriveEncryptionKey(master, 'recipient-link').id);
    const heads = { unsubscribe: ['19', '11'], open: ['1a', '12'], click: ['1b', '13'] } as const;
    for (const kind of KINDS) {
      for (const [at, mode] of (['live', 'test'] as const).entries()) {
        const url = kind === 'click' ? { url: 'https://a.example/' } : {};
        const token = links.issue(kind, { ...one, mode, ...url });
        const rest = Buffer.from('0000010201890a5dac96774bbcceb302099a805703', 'hex');
        const head = Buffer.from(heads[kind][at] ?? '', 'hex');
        expect(token).toBe(genuine(Buffer.concat([head, keyId, rest, Buffer.from(url.url ?? '')])));
      }
    }
  });

  it('opens the longest address, and refuses what is longer, shorter or of another version, even with our signature', () => {
    const url = 'https://a.example/'.padEnd(MAX_URL_LENGTH, 'x');
    const token = links.issue('click', { ...target, url });
    expect(links.open('click', token)).toEqual({ ...target, url });
    const body = Buffer.from(token, 'base64url').subarray(0, -16);
    expect(genuine(body)).toBe(token);
    expect(links.open('click', genuine(Buffer.concat([body, Buffer.from('x')])))).toBeUndefined();
    for (const length of [5, 10, 25]) expect(links.open('click', genuine(body.subarray(0, length)))).toBeUndefined();
    for (const head of [0x03, 0x0b, 0x23, 0x2b, 0x33]) {
      body[0] = head;
      expect(links.open('click', genuine(body))).toBeUndefined();
    }
  });

  it('opens those of the previous master key, and of no third one', () => {
    const next = randomBytes(32);
    const token = links.issue('unsubscribe', target);
    const changed = new RecipientLink(next, master);
    expect(changed.open('unsubscribe', token)).toEqual(target);
    expect(changed.issue('unsubscribe', target)).toBe(new RecipientLink(next).issue('unsubscribe', target));
    expect(new RecipientLink(next).open('unsubscribe', token)).toBeUndefined();
  });

  it.each([
    [{ organizationOrdinal: 2 ** 32 }, '"value" is out of range'],
    [{ organizationOrdinal: -1 }, '"value" is out of range'],
    [{ position: 256 }, '"value" is out of range'],
    [{ emailId: 'x' }, 'The id must be a UUID'],
  ])('does not issue %j', (part, message) => {
    expect(() => links.issue('unsubscribe', { ...target, ...part })).toThrow(message);
  });

  it.each([
    ...['', ' ', 'https://a.example/ b', ' https://a.example/', 'https://a.example/\r\n', 'https://ä.example/'],
    'x'.repeat(2_001),
  ])('does not issue a click to %j', (url) => {
    const issue = () => links.issue('click', { ...target, url });
    expect(issue).toThrow(new RangeError('A click, and nothing else, needs an address'));
  });

  it('does not issue an address with what is no click', () => {
    const withUrl = { ...target, url: 'https://a.example/' };
    expect(() => links.issue('open', withUrl)).toThrow('A click, and nothing else, needs an address');
  });

  it('needs a whole key', () => {
    expect(() => new RecipientLink(Buffer.alloc(16))).toThrow();
  });
});
