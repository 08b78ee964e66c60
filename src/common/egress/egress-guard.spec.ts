import fc from 'fast-check';
import type { DnsAnswer, DnsResolver, IpAddress } from '../dns/dns-resolver';
import { PublicEgressGuard } from './egress-guard';

type Answer = DnsAnswer<IpAddress>;

function guard(answer: Answer = { kind: 'no-domain' }, allowLoopback = false): PublicEgressGuard {
  return new PublicEgressGuard({ resolveAddresses: () => Promise.resolve(answer) } as unknown as DnsResolver, {
    allowLoopback,
  });
}

function found(...addresses: string[]): Answer {
  return { kind: 'found', records: addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })) };
}

const check = (url: string, answer?: Answer, allowLoopback?: boolean) =>
  guard(answer, allowLoopback).check(new URL(url));

/** A private IPv4 address: loopback, 10/8, 192.168/16, link-local with the metadata services, shared. */
const privateFour = fc
  .tuple(
    fc.constantFrom([127], [10], [192, 168], [169, 254], [100, 64]),
    fc.array(fc.nat(255), { minLength: 3, maxLength: 3 }),
  )
  .map(([start, rest]) => [...start, ...rest].slice(0, 4));

/** Hexadecimal digits of any case, with or without leading zeros. */
const group = (value: number) =>
  fc.tuple(fc.boolean(), fc.boolean()).map(([upper, padded]) => {
    const digits = value.toString(16).padStart(padded ? 4 : 1, '0');
    return upper ? digits.toUpperCase() : digits;
  });

function groupsOf(bytes: readonly number[]): number[] {
  return [((bytes[0] ?? 0) << 8) | (bytes[1] ?? 0), ((bytes[2] ?? 0) << 8) | (bytes[3] ?? 0)];
}

const prefixes = [
  [0, 0, 0, 0, 0, 0xffff],
  [0x64, 0xff9b, 0, 0, 0, 0],
];
/** IPv6 addresses that must not be reached, each spelled in some way, as text between brackets. */
const privateSix = fc
  .oneof(
    fc.tuple(fc.constantFrom(...prefixes), privateFour).map(([prefix, bytes]) => [...prefix, ...groupsOf(bytes)]),
    fc
      .tuple(
        fc.constantFrom(0xfc00, 0xfd00, 0xfe80, 0xff02, 0x2002),
        fc.array(fc.nat(0xffff), { minLength: 7, maxLength: 7 }),
      )
      .map(([first, rest]) => [first, ...rest]),
    fc.constant([0, 0, 0, 0, 0, 0, 0, 1]),
    fc.constant([0, 0, 0, 0, 0, 0, 0, 0]),
  )
  .chain((groups) => fc.tuple(...groups.map(group)))
  .chain((groups) => fc.constantFrom(groups.join(':'), compressed(groups)));

/** With `::` for the first run of zero groups. */
function compressed(groups: readonly string[]): string {
  const start = groups.findIndex((one) => Number.parseInt(one, 16) === 0);
  if (start === -1) return groups.join(':');
  const length = [...groups.slice(start), 'f'].findIndex((one) => Number.parseInt(one, 16) !== 0);
  return `${groups.slice(0, start).join(':')}::${groups.slice(start + length).join(':')}`;
}

describe('PublicEgressGuard', () => {
  it('allows a name whose addresses are all public, and says which they are', async () => {
    const answer = found('93.184.215.14', '2606:2800:21f:cb07:6820:80da:af6b:8b2c');
    expect(await check('https://x.example/', answer)).toEqual({
      kind: 'allowed',
      addresses: ['93.184.215.14', '2606:2800:21f:cb07:6820:80da:af6b:8b2c'],
    });
  });

  it.each([
    ['one address that is not public', found('93.184.215.14', '10.0.0.1')],
    ['a mapped one', found('::ffff:10.0.0.1')],
    ['no address', { kind: 'no-data' } as const],
    ['no name', { kind: 'no-domain' } as const],
  ])('refuses a name with %s', async (_what, answer) => {
    // The same words for all: they must not tell which names there are in our own network.
    const reason = 'the host must exist and have public addresses only';
    expect(await check('https://x.example/', answer)).toEqual({ kind: 'refused', reason });
    expect(await check('https://127.0.0.1/')).toEqual({ kind: 'refused', reason });
  });

  it('does not decide when the DNS does not answer', async () => {
    const answer = { kind: 'temporary', reason: 'ESERVFAIL' } as const;
    expect((await check('https://x.example/', answer)).kind).toBe('temporary');
  });

  it.each(['http://127.0.0.1/', 'http://2130706433/', 'http://0x7f.1/', 'http://0177.0.0.1/', 'http://127.1/'])(
    'refuses %s, loopback as it is',
    async (url) => expect((await check(url)).kind).toBe('refused'),
  );

  it.each(['http://localhost/', 'http://LOCALHOST./', 'http://a.localhost/', 'http://[::1]/', 'http://127.1/'])(
    'allows %s when loopback is',
    async (url) => {
      expect((await check(url)).kind).toBe('refused');
      expect((await check(url, undefined, true)).kind).toBe('allowed');
    },
  );

  it.each(['10.0.0.1', '192.168.0.1', '169.254.169.254', '0.0.0.0', 'fd00::1', 'fe80::1'])(
    'refuses %s even when loopback is allowed',
    async (address) => {
      expect((await check('https://x.example/', found(address), true)).kind).toBe('refused');
    },
  );

  it('refuses other schemes', async () => {
    expect((await check('ftp://x.example/', found('93.184.215.14'))).kind).toBe('refused');
  });

  it('refuses private addresses in every spelling of IPv6', async () => {
    await fc.assert(
      fc.asyncProperty(privateSix, async (address) => {
        expect((await check(`https://[${address}]/`)).kind).toBe('refused');
      }),
      { numRuns: 2_000 },
    );
  });
});
