import fc from 'fast-check';
import type { DnsAnswer, DnsResolver, IpAddress, MxRecord } from '../../common/dns/dns-resolver';
import { chooseCandidates, findHosts, groupOf } from './mail-exchangers';

const OWN = new Set(['us.test']);
const CHOICE = { ownHostNames: OWN, random: Math.random };

const arbitraryRecord: fc.Arbitrary<MxRecord> = fc.record({
  preference: fc.nat(20),
  exchange: fc.oneof(
    fc.nat(80).map((index) => `mx${index}.test`),
    fc.constantFrom('', 'us.test', '127.0.0.1', '::1', 'a b', 'x'.repeat(70)),
  ),
});

describe('chooseCandidates', () => {
  it('names at most fifty hosts, each once, by preference, and all preferred to this service', () => {
    fc.assert(
      fc.property(fc.array(arbitraryRecord, { minLength: 1, maxLength: 200 }), (records) => {
        const result = chooseCandidates('example.test', { kind: 'found', records }, CHOICE);
        if (result.kind === 'unroutable') return;
        const own = records.filter(({ exchange }) => OWN.has(exchange)).map(({ preference }) => preference);
        const preferences = result.records.map(({ preference }) => preference);
        expect(preferences).toEqual(preferences.toSorted((a, b) => a - b));
        expect(Math.max(...preferences)).toBeLessThan(Math.min(Infinity, ...own));
        expect(new Set(result.records.map(({ exchange }) => exchange)).size).toBe(result.records.length);
        expect(result.records.length).toBeLessThanOrEqual(50);
        for (const { exchange } of result.records) expect(exchange).toMatch(/^mx\d+\.test$/);
      }),
    );
  });

  it('takes a null MX beside others for a slip', () => {
    const records = [
      { preference: 0, exchange: '' },
      { preference: 5, exchange: 'mx.test' },
    ];
    const result = chooseCandidates('example.test', { kind: 'found', records }, CHOICE);
    expect(result).toEqual({ kind: 'candidates', records: [{ preference: 5, exchange: 'mx.test' }] });
  });

  it('refuses to deliver to this service by its implicit MX', () => {
    const result = chooseCandidates('us.test', { kind: 'no-data' }, CHOICE);
    expect(result).toMatchObject({ kind: 'unroutable', enhancedCode: '5.4.6' });
  });
});

describe('the group of a domain', () => {
  it.each<[string, [number, string][], string]>([
    ['the first host', [[10, 'mx1.host.example'], [20, 'mx2.host.example']], 'mx1.host.example'], // prettier-ignore
    ['the first by name, of the same preference', [[5, 'b.host.example'], [5, 'a.host.example']], 'a.host.example'], // prettier-ignore
    ['the first of a receiver with several names', [[1, 'aspmx.l.google.com'], [5, 'aspmx2.googlemail.com']], 'aspmx.l.google.com'], // prettier-ignore
    ['the domain, where others have a host beside a receiver’s', [[5, 'gmail-smtp-in.l.google.com'], [5, 'zz.evil.example']], '@shop.example'], // prettier-ignore
    ['the domain, where a backup is run by others', [[5, 'mx.host.example'], [50, 'backup.other.example']], '@shop.example'], // prettier-ignore
    ['the domain, under a suffix that many register names in', [[5, 'mx.one.co.uk'], [5, 'mx.two.co.uk']], '@shop.example'], // prettier-ignore
    ['the domain, under a name that a company gives its customers', [[5, 'inbound-smtp.us-east-1.amazonaws.com'], [5, 'zz.compute-1.amazonaws.com']], '@shop.example'], // prettier-ignore
    ['the domain, without a host', [[0, '']], 'shop.example'], // prettier-ignore
  ])('is %s', (_what, exchangers, group) => {
    const records = exchangers.map(([preference, exchange]) => ({ preference, exchange }));
    expect(groupOf('shop.example', { kind: 'found', records })).toBe(group);
  });

  it('is no name that another domain can give as its exchanger', () => {
    const several = [[5, 'mx.host.example'], [50, 'backup.other.example']] as const; // prettier-ignore
    const records = several.map(([preference, exchange]) => ({ preference, exchange }));
    const group = groupOf('shop.example', { kind: 'found', records });
    for (const exchange of ['shop.example', '@shop.example']) {
      const named: DnsAnswer<MxRecord> = { kind: 'found', records: [{ preference: 5, exchange }] };
      expect(groupOf('evil.example', named)).not.toBe(group);
    }
  });
});

describe('findHosts', () => {
  const policy = { preferIpv6: false, hasIpv6: () => true, allowPrivateDestinations: false };
  const records = [1, 2, 3, 4, 5, 6].map((preference) => ({ preference, exchange: `mx${preference}.test` }));
  const trouble = { kind: 'unroutable', permanent: false, enhancedCode: '4.4.3' };

  const find = (
    resolveAddresses: (name: string) => DnsAnswer<IpAddress>,
    signal = new AbortController().signal,
    isCut = false,
  ) => {
    const resolver = { resolveAddresses: (name: string) => Promise.resolve(resolveAddresses(name)) };
    return findHosts(resolver as unknown as DnsResolver, { records, isCut }, policy, { signal });
  };

  it('concludes nothing from one family that is of no use while the other is unknown', async () => {
    const own: DnsAnswer<IpAddress> = { kind: 'found', records: [{ address: '10.0.0.1', family: 4 }] };
    expect(await find(() => ({ ...own, failedFamily: 6 }))).toMatchObject(trouble);
    expect(await find(() => own)).toMatchObject({ permanent: true, ruleId: 'no-public-address' });
  });

  it('concludes nothing from those that it looks up when there are more of them', async () => {
    const names = Array.from({ length: 51 }, (_, n) => ({ preference: n, exchange: `mx${n}.test` }));
    const chosen = chooseCandidates('example.test', { kind: 'found', records: names }, CHOICE);
    expect(chosen).toEqual({ kind: 'candidates', records: names.slice(0, 50), isCut: true });
    const fifty = chooseCandidates('example.test', { kind: 'found', records: names.slice(1) }, CHOICE);
    expect(fifty).toEqual({ kind: 'candidates', records: names.slice(1) });
    const { signal } = new AbortController();
    const own: DnsAnswer<IpAddress> = { kind: 'found', records: [{ address: '10.0.0.1', family: 4 }] };
    for (const answer of [{ kind: 'no-domain' }, own] as const) {
      expect(await find(() => answer, signal, true)).toMatchObject({ permanent: false, enhancedCode: '4.4.4' });
      expect(await find(() => answer, signal)).toMatchObject({ permanent: true });
    }
  });

  it('concludes nothing from the first exchangers when there was no time for the others', async () => {
    const ending = new AbortController();
    const answer = (name: string): DnsAnswer<IpAddress> => {
      if (name === 'mx5.test') ending.abort();
      const isLast = name === 'mx6.test';
      return isLast ? { kind: 'found', records: [{ address: '8.8.4.1', family: 4 }] } : { kind: 'no-domain' };
    };
    expect(await find(answer, ending.signal)).toMatchObject(trouble);
    expect(await find(() => ({ kind: 'no-domain' }))).toMatchObject({ permanent: true, ruleId: 'no-address' });
  });
});
