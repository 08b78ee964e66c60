import { MINUTE } from '../../../src/common/clock';
import { type DnssecAnswer, DnssecResolver } from '../../../src/common/dns/dnssec-resolver';
import { DanePolicies, type HostDane } from '../../../src/delivery/tls/dane.service';
import { DnsServer, type DnsZones } from '../../doubles/dns-server';
import { FakeClock } from '../../doubles/fake-clock';

const RECORD = { usage: 3, selector: 1, matchingType: 1, certificate: Buffer.alloc(32, 7) };
const SIGNED = { signed: true };
const DOMAIN = { 'x.example': { MX: [[10, 'mx.x.example']], ...SIGNED } } satisfies DnsZones;
const HOST = { 'mx.x.example': { A: ['192.0.2.1'], ...SIGNED } } satisfies DnsZones;
const TLSA = { '_25._tcp.mx.x.example': { TLSA: [RECORD], ...SIGNED } } satisfies DnsZones;

describe('the TLSA records of a mail exchanger (RFC 7672)', () => {
  let dns: DnsServer;

  afterEach(() => dns.stop());

  async function setUp(zones: DnsZones) {
    dns = await DnsServer.start(zones);
    const clock = new FakeClock();
    // To the cache, what was put in at 0 has no age.
    clock.advance(1);
    return { clock, policies: new DanePolicies(new DnssecResolver([dns.endpoint], 200), clock) };
  }

  async function of(zones: DnsZones): Promise<HostDane | undefined> {
    const { policies } = await setUp(zones);
    return (await policies.of('x.example', ['mx.x.example'], 25)).get('mx.x.example');
  }

  it('count when DNSSEC proves the domain, the host and the records', async () => {
    const found = await of({ ...DOMAIN, ...HOST, ...TLSA });
    expect(found).toMatchObject({
      baseDomain: 'mx.x.example',
      nextHopNames: ['x.example'],
      records: [{ usage: 3, data: RECORD.certificate }],
    });
  });

  it.each([true, 'within a record'] as const)(
    'are asked for over TCP where a datagram is cut: %s',
    async (truncated) => {
      const cut = { '_25._tcp.mx.x.example': { TLSA: [RECORD], truncated, ...SIGNED } };
      expect(await of({ ...DOMAIN, ...HOST, ...cut })).toMatchObject({ records: [{ usage: 3 }] });
    },
  );

  it('demand encryption though none of them can be used', async () => {
    const unusable = { '_25._tcp.mx.x.example': { TLSA: [{ ...RECORD, usage: 1 }], ...SIGNED } };
    expect(await of({ ...DOMAIN, ...HOST, ...unusable })).toMatchObject({ records: [] });
  });

  it.each<[string, DnsZones]>([
    ['of the domain', { 'x.example': { MX: [[10, 'mx.x.example']] } }],
    ['of the host', { 'mx.x.example': { A: ['192.0.2.1'] } }],
  ])('are not asked for without a proof %s', async (_of, zone) => {
    expect(await of({ ...DOMAIN, ...HOST, ...TLSA, ...zone })).toBe('none');
    expect(dns.queries.join()).not.toMatch('TLSA');
  });

  it.each<[string, DnsZones]>([
    ['are not proven themselves', { '_25._tcp.mx.x.example': { TLSA: [RECORD] } }],
    ['are not there', { '_25._tcp.mx.x.example': { ...SIGNED } }],
  ])('are none when they %s', async (_why, zone) => {
    expect(await of({ ...DOMAIN, ...HOST, ...zone })).toBe('none');
  });

  it('are remembered of fewer hosts where they are as many as a reply holds', async () => {
    await setUp({});
    const certificate = Buffer.alloc(8 * 1024, 7);
    const records = [1, 2].map(() => ({ type: 'TLSA', data: { ...RECORD, matchingType: 0, certificate }, ttl: 300 }));
    const query = (_name: string, type: string) =>
      Promise.resolve({
        kind: 'answered',
        isSecure: true,
        answers: type === 'TLSA' ? records : [],
      } as unknown as DnssecAnswer);
    const large = new DanePolicies({ query }, new FakeClock());
    const hosts = Array.from({ length: 1_500 }, (_one, n) => `mx${n}.x.example`);
    for (const host of hosts) await large.of('x.example', [host], 25);
    expect(hosts.filter((host) => large.known(host, 25) !== undefined)).toEqual(hosts.slice(-1_000));
  });

  it('are unknown when no datagram can be sent to the resolver', async () => {
    dns = await DnsServer.start({});
    // Link-local, and no interface is named.
    const policies = new DanePolicies(new DnssecResolver(['fe80::1'], 200), new FakeClock());
    expect((await policies.of('x.example', ['mx.x.example'], 25)).get('mx.x.example')).toBe('unknown');
  });

  it('are none where the name does not exist', async () => {
    expect(await of({ ...DOMAIN, ...HOST })).toBe('none');
  });

  it.each<[string, DnsZones]>([
    ['its records', { '_25._tcp.mx.x.example': 'servfail' }],
    ['its records, in silence', { '_25._tcp.mx.x.example': 'silent' }],
    ['its records, in no words', { '_25._tcp.mx.x.example': 'garbage' }],
    [
      'its records, of which there are hundreds',
      { '_25._tcp.mx.x.example': { TLSA: Array(500).fill(RECORD), ...SIGNED } },
    ],
    ['its addresses', { 'mx.x.example': 'servfail' }],
    ['the domain', { 'x.example': 'servfail' }],
  ])('are unknown, not none, when the DNS fails at %s', async (_what, zone) => {
    expect(await of({ ...DOMAIN, ...HOST, ...TLSA, ...zone })).toBe('unknown');
  });

  it('are those of where an alias leads to, or else of the alias', async () => {
    const alias = { 'mx.x.example': { CNAME: 'mail.y.example', ...SIGNED } };
    const target = { 'mail.y.example': { A: ['192.0.2.1'], ...SIGNED } };
    const ofTarget = { '_25._tcp.mail.y.example': { TLSA: [RECORD], ...SIGNED } };
    expect(await of({ ...DOMAIN, ...alias, ...target, ...TLSA, ...ofTarget })).toMatchObject({
      baseDomain: 'mail.y.example',
    });
    await dns.stop();
    expect(await of({ ...DOMAIN, ...alias, ...target, ...TLSA })).toMatchObject({ baseDomain: 'mx.x.example' });
  });

  it('are those of a proven alias alone, where nothing proves its target (section 2.1.3)', async () => {
    const alias = { 'mx.x.example': { CNAME: 'mail.y.example', ...SIGNED } };
    const target = { 'mail.y.example': { A: ['192.0.2.1'] } };
    const ofTarget = { '_25._tcp.mail.y.example': { TLSA: [RECORD], ...SIGNED } };
    const zones: DnsZones = { ...DOMAIN, ...alias, ...target, ...TLSA, ...ofTarget };
    expect(await of(zones)).toMatchObject({ baseDomain: 'mx.x.example' });
    expect(dns.queries.join()).not.toMatch('TLSA _25._tcp.mail.y.example');
    await dns.stop();
    expect(await of({ ...zones, 'mx.x.example': { CNAME: 'mail.y.example' } })).toBe('none');
    expect(dns.queries.join()).not.toMatch('TLSA');
  });

  it('resolve the names of a domain that is an alias', async () => {
    const domain: DnsZones = {
      'x.example': { CNAME: 'y.example', ...SIGNED },
      'y.example': { MX: [[10, 'mx.x.example']], ...SIGNED },
    };
    const found = await of({ ...domain, ...HOST, ...TLSA });
    expect(found).toMatchObject({ baseDomain: 'mx.x.example', nextHopNames: ['x.example', 'y.example'] });
  });

  it('of a host with IPv6 addresses only, and of many records, over TCP', async () => {
    const six = { 'mx.x.example': { AAAA: ['2001:db8::1'], ...SIGNED } };
    const many = Array.from({ length: 40 }, (_, n) => ({ ...RECORD, certificate: Buffer.alloc(32, n) }));
    const found = await of({ ...DOMAIN, ...six, '_25._tcp.mx.x.example': { TLSA: many, ...SIGNED } });
    expect(found).toMatchObject({ records: { length: 40 } });
  });

  it('are remembered, trouble for seconds only', async () => {
    const { clock, policies } = await setUp({ ...DOMAIN, ...HOST, '_25._tcp.mx.x.example': 'servfail' });
    const look = async () => (await policies.of('x.example', ['mx.x.example'], 25)).get('mx.x.example');
    expect(await Promise.all([look(), look()])).toEqual(['unknown', 'unknown']);
    dns.set(TLSA);
    expect(await look()).toBe('unknown');
    clock.advance(MINUTE / 2);
    expect(await look()).toMatchObject({ baseDomain: 'mx.x.example' });
    const asked = dns.queries.length;
    await look();
    expect(dns.queries).toHaveLength(asked);
  });

  it('of one organization at silent servers take few sockets, and another is served beside them', async () => {
    const { policies } = await setUp({ ...DOMAIN, ...HOST, ...TLSA });
    const silent = Array.from({ length: 100 }, (_, n) => `silent${n}.example`);
    dns.set(Object.fromEntries(silent.map((name) => [name, 'silent'] as const)));
    const waiting = silent.map((name) => policies.of(name, [`mx.${name}`], 25, 'loud'));
    const shared = policies.of('x.example', ['mx.x.example'], 25, 'loud');
    const found = await policies.of('x.example', ['mx.x.example'], 25, 'quiet');
    expect(found.get('mx.x.example')).toMatchObject({ baseDomain: 'mx.x.example' });
    const asked = new Set(dns.queries.filter((query) => query.includes('silent')));
    expect(asked.size).toBeLessThanOrEqual(8);
    await Promise.all([...waiting, shared]);
  });

  it('are looked up for one organization though another has too many look-ups', async () => {
    dns = await DnsServer.start({ ...DOMAIN, ...HOST, ...TLSA });
    const resolver = new DnssecResolver([dns.endpoint], 200);
    const query: DnssecResolver['query'] = (name, type, options) =>
      options?.holder === 'loud'
        ? Promise.resolve({ kind: 'temporary', reason: 'EBUSY' })
        : resolver.query(name, type, options);
    const clock = new FakeClock();
    clock.advance(1);
    const policies = new DanePolicies({ query }, clock);
    const look = async (holder: string) =>
      (await policies.of('x.example', ['mx.x.example'], 25, holder)).get('mx.x.example');
    expect(await look('loud')).toBe('unknown');
    expect(await look('quiet')).toMatchObject({ baseDomain: 'mx.x.example' });
    expect(await look('loud')).toMatchObject({ baseDomain: 'mx.x.example' });
  });
});
