import { createHash, X509Certificate } from 'node:crypto';
import * as fc from 'fast-check';
import { TEST_CERTIFICATE } from '../../../../test/doubles/tls-certificate';
import { TEST_ANCHORS } from '../../../../test/doubles/tls-anchors';
import { TEST_CHAIN } from '../../../../test/doubles/tls-chain';
import { proofByTlsa, type TlsaRecord, tlsaDemandOf } from './tlsa';

const leaf = new X509Certificate(TEST_CHAIN.cert);
const authority = new X509Certificate(TEST_CHAIN.authority);
const unrelated = new X509Certificate(TEST_CERTIFICATE.cert);
const CHAIN = [leaf.raw, authority.raw];
const NOW = new Date('2030-01-01T00:00:00Z');
const BEFORE = new Date('2001-01-01T00:00:00Z');

function record(usage: number, selector: number, matchingType: number, certificate = leaf): TlsaRecord {
  const key = certificate.publicKey.export({ type: 'spki', format: 'der' });
  const whole = selector === 0 ? certificate.raw : key;
  const digest = ['', 'sha256', 'sha512'][matchingType] ?? '';
  return { usage, selector, matchingType, data: digest ? createHash(digest).update(whole).digest() : whole };
}

const matches = (records: TlsaRecord[], chain = CHAIN, host = TEST_CHAIN.hostName, now = NOW) =>
  proofByTlsa(tlsaDemandOf(host, records), chain, now) !== undefined;

describe('proofByTlsa', () => {
  it('a key of a kind that nobody knows is none of the records', () => {
    const odd = Buffer.from(leaf.raw);
    const kind = Buffer.from('06072a8648ce3d0201', 'hex');
    odd[odd.indexOf(kind) + kind.length - 1] = 0x7f;
    expect(() => new X509Certificate(odd).publicKey).toThrow();
    expect(matches([record(3, 1, 1)], [odd])).toBe(false);
    expect(matches([record(3, 1, 1), { ...record(3, 0, 0), data: odd }], [odd])).toBe(true);
  });

  it.each([
    [3, 0, 0],
    [3, 0, 1],
    [3, 0, 2],
    [3, 1, 0],
    [3, 1, 1],
    [3, 1, 2],
  ])('DANE-EE %i %i %i: the leaf itself, whatever its name and its dates', (usage, selector, matchingType) => {
    expect(matches([record(usage, selector, matchingType)])).toBe(true);
    expect(matches([record(usage, selector, matchingType)], CHAIN, 'other.test', BEFORE)).toBe(true);
    expect(matches([record(usage, selector, matchingType, authority)])).toBe(false);
    expect(matches([record(usage, selector, matchingType)], [unrelated.raw])).toBe(false);
  });

  it.each([
    [2, 0, 0],
    [2, 0, 1],
    [2, 0, 2],
    [2, 1, 0],
    [2, 1, 1],
    [2, 1, 2],
  ])('DANE-TA %i %i %i: what the anchor has signed, with the name, in its time', (usage, selector, matchingType) => {
    const records = [record(usage, selector, matchingType, authority)];
    expect(matches(records)).toBe(true);
    expect(matches(records, CHAIN, 'other.test')).toBe(false);
    expect(matches(records, CHAIN, TEST_CHAIN.hostName, BEFORE)).toBe(false);
    // The anchor must be shown, unless the record is all of it.
    expect(matches(records, [leaf.raw])).toBe(selector === 0 && matchingType === 0);
    // Beside a leaf that it has not signed it proves nothing.
    expect(matches(records, [unrelated.raw, authority.raw])).toBe(false);
  });

  it('DANE-TA: compares with the next hop as well, for whose mail alone that proves anything (RFC 7672 section 3.2.2)', () => {
    const { hostName } = TEST_CHAIN;
    const proof = (base: string, names: string[], records = [record(2, 1, 1, authority)], now = NOW) =>
      proofByTlsa(tlsaDemandOf(base, records, names), CHAIN, now);
    expect(proof('mx.y.test', ['x.test', hostName])).toEqual({ nextHopName: hostName });
    // The host's own name is proof for every domain.
    expect(proof(hostName, ['x.test', hostName])).toEqual({});
    expect(proof('mx.y.test', ['x.test'])).toBeUndefined();
    expect(proof('mx.y.test', [hostName], [record(2, 1, 1, authority)], BEFORE)).toBeUndefined();
    expect(proof('mx.y.test', [hostName], [record(2, 1, 1, unrelated)])).toBeUndefined();
    expect(proof('mx.y.test', ['x.test'], [record(3, 1, 1)])).toEqual({});
  });

  describe('DANE-TA 2 0 0 whose anchor is not in the chain', () => {
    const anchoredBy = (name: string, before: readonly TlsaRecord[] = []): boolean => {
      const { certificate, anchor } = TEST_ANCHORS[name] as (typeof TEST_ANCHORS)[string];
      const chain = [new X509Certificate(certificate).raw];
      return matches([...before, record(2, 0, 0, new X509Certificate(anchor))], chain, 'mx.example.org');
    };

    it.each(Object.keys(TEST_ANCHORS))('is proven by a signature with %s', (name) => {
      expect(anchoredBy(name)).toBe(!name.startsWith('no '));
    });

    it('is one of the first four', () => {
      const other = record(2, 0, 0, unrelated);
      expect(anchoredBy('an RSA key', [other, other, other])).toBe(true);
      expect(anchoredBy('an RSA key', [other, other, other, other])).toBe(false);
    });
  });

  it('takes any of several records', () => {
    expect(matches([record(3, 1, 1, unrelated), record(2, 1, 1, authority)])).toBe(true);
    expect(matches([record(3, 1, 1, unrelated), record(2, 1, 1, unrelated)])).toBe(false);
  });

  it('takes the strongest digest only', () => {
    expect(matches([record(3, 1, 1), record(3, 1, 2, unrelated)])).toBe(false);
    expect(matches([record(3, 1, 1), record(3, 0, 2, unrelated)])).toBe(true);
  });

  it('knows no more than nothing of what is no certificate', () => {
    expect(matches([record(3, 1, 1)], [])).toBe(false);
    expect(matches([record(3, 1, 1)], [Buffer.from('x')])).toBe(false);
    expect(matches([record(2, 1, 1, authority)], [leaf.raw, Buffer.from('x')])).toBe(false);
  });

  it('never proves an unrelated certificate, whatever the records', () => {
    const any = fc.record({
      usage: fc.integer({ min: 0, max: 255 }),
      selector: fc.integer({ min: 0, max: 255 }),
      matchingType: fc.integer({ min: 0, max: 255 }),
      data: fc.oneof(
        fc.uint8Array({ maxLength: 70 }).map((bytes) => Buffer.from(bytes)),
        fc.constantFrom(leaf.raw, authority.raw, record(3, 1, 1).data, record(3, 0, 2).data),
      ),
    });
    fc.assert(
      fc.property(fc.array(any, { maxLength: 8 }), (records) => {
        expect(matches(records, [unrelated.raw], TEST_CERTIFICATE.hostName)).toBe(false);
      }),
    );
  });
});

describe('tlsaDemandOf', () => {
  it.each([
    ['PKIX-TA', record(0, 1, 1)],
    ['PKIX-EE', record(1, 1, 1)],
    ['an unknown usage', record(4, 1, 1)],
    ['an unknown selector', { ...record(3, 1, 1), selector: 2 }],
    ['an unknown digest', { ...record(3, 1, 1), matchingType: 3 }],
    ['a digest of another length', { ...record(3, 1, 1), data: Buffer.alloc(31) }],
    ['an empty certificate', { ...record(3, 0, 0), data: Buffer.alloc(0) }],
  ])('cannot use %s', (_what, one) => {
    expect(tlsaDemandOf('mx.x.example', [one]).records).toEqual([]);
  });

  it('names the same records alike, in whatever order', () => {
    const [one, other] = [record(3, 1, 1), record(2, 0, 1, authority)];
    expect(tlsaDemandOf('mx', [one, other]).id).toBe(tlsaDemandOf('mx', [other, one]).id);
    expect(tlsaDemandOf('mx', [one]).id).not.toBe(tlsaDemandOf('mx', [other]).id);
  });
});
