import { SECOND } from '../../../src/common/clock';
import type { DnsAnswer, IpAddress, LookupOptions, MxRecord } from '../../../src/common/dns/dns-resolver';
import { NodeDnsResolver, type NodeDnsResolverOptions } from '../../../src/common/dns/node-dns-resolver';
import { DirectRouter, type DirectRouterOptions } from '../../../src/delivery/routing/direct-router';
import type { Route } from '../../../src/delivery/routing/router';
import { DnsServer, type DnsZones, patienceWith } from '../../doubles/dns-server';
import { FakeClock } from '../../doubles/fake-clock';

const running: DnsServer[] = [];

afterEach(async () => {
  await Promise.all(running.splice(0).map((dns) => dns.stop()));
});

async function setUp(zones: DnsZones, options: DirectRouterOptions = {}, queryTimeoutMs = patienceWith(zones)) {
  const dns = await DnsServer.start(zones);
  running.push(dns);
  const clock = new FakeClock();
  const resolver = new NodeDnsResolver({ servers: [dns.endpoint], queryTimeoutMs });
  return { dns, clock, router: new DirectRouter(resolver, clock, options) };
}

async function resolve(zones: DnsZones, options?: DirectRouterOptions, destination = 'example.test') {
  const { router } = await setUp(zones, options);
  return router.resolve(destination);
}

function hostNames(route: Route): string[] {
  return route.kind === 'hosts' ? route.hosts.map((host) => host.hostName) : [route.enhancedCode];
}

function addresses(route: Route): string[] {
  return route.kind === 'hosts' ? route.hosts.flatMap((host) => host.addresses) : [];
}

const PUBLIC = { A: ['8.8.4.1'] };

describe('a route', () => {
  it('lists mail exchangers by preference with the addresses of both families, IPv4 first', async () => {
    const route = await resolve({
      'example.test': { MX: [[20, 'b.test'], [10, 'a.test']] }, // prettier-ignore
      'a.test': { A: ['8.8.4.1', '8.8.4.2'], AAAA: ['2a00:1450::1'] },
      'b.test': PUBLIC,
    });
    expect(route).toEqual({
      kind: 'hosts',
      port: 25,
      final: true,
      // Hosts of two operators: the domain's own.
      group: '@example.test',
      hosts: [
        { hostName: 'a.test', addresses: ['8.8.4.1', '8.8.4.2', '2a00:1450::1'], preference: 10 },
        { hostName: 'b.test', addresses: ['8.8.4.1'], preference: 20 },
      ],
    });
  });

  it('lists IPv6 first when configured', async () => {
    const zones = { 'example.test': { A: ['8.8.4.1'], AAAA: ['2a00:1450::1'] } };
    expect(addresses(await resolve(zones, { preferIpv6: true }))).toEqual(['2a00:1450::1', '8.8.4.1']);
  });

  it('lists IPv4 first at receivers that want it so, whatever is configured', async () => {
    const zones = {
      'example.test': { MX: [[1, 'aspmx.l.google.com']] }, // prettier-ignore
      'aspmx.l.google.com': { A: ['8.8.4.1'], AAAA: ['2a00:1450::1'] },
    } as const;
    expect(addresses(await resolve(zones, { preferIpv6: true }))).toEqual(['8.8.4.1', '2a00:1450::1']);
  });

  it('lists no IPv6 on a machine that has none, and waits for one where there is nothing else', async () => {
    const options = { preferIpv6: true, hasIpv6: () => false };
    const both = { 'example.test': { A: ['8.8.4.1'], AAAA: ['2a00:1450::1'] } };
    expect(addresses(await resolve(both, options))).toEqual(['8.8.4.1']);
    expect(await resolve({ 'example.test': { AAAA: ['2a00:1450::1'] } }, options)).toMatchObject({
      ...{ kind: 'unroutable', permanent: false, ruleId: 'no-ipv6-here' },
    });
  });

  it('shuffles equal preferences again for every caller', async () => {
    const values = [0.9, 0.1, 0.9, 0.1, 0.1, 0.9];
    const zones: DnsZones = { 'example.test': { MX: [[5, 'a.test'], [5, 'b.test']] }, 'a.test': PUBLIC, 'b.test': PUBLIC }; // prettier-ignore
    const { router } = await setUp(zones, { random: () => values.shift() ?? 0.5 });
    const first = hostNames(await router.resolve('example.test'));
    const second = hostNames(await router.resolve('example.test'));
    expect(first.toSorted()).toEqual(['a.test', 'b.test']);
    expect(second).toEqual(first.toReversed());
  });

  it('falls back to the domain itself when it has no mail exchanger', async () => {
    expect(hostNames(await resolve({ 'example.test': PUBLIC }))).toEqual(['example.test']);
  });

  it('tolerates a mail exchanger that is an alias', async () => {
    const route = await resolve({
      'example.test': { MX: [[10, 'alias.test']] },
      'alias.test': { CNAME: 'a.test' },
      'a.test': PUBLIC,
    });
    expect(route).toMatchObject({ hosts: [{ hostName: 'alias.test', addresses: ['8.8.4.1'] }] });
  });

  it('takes the destination in any case and with a last dot', async () => {
    expect(hostNames(await resolve({ 'example.test': PUBLIC }, {}, 'EXAMPLE.test.'))).toEqual(['example.test']);
  });

  it('has at most five hosts and ten addresses, the preferred first', async () => {
    const names = Array.from({ length: 60 }, (_value, index) => `mx${index}.test`);
    const twenty = { A: Array.from({ length: 20 }, (_value, index) => `8.8.4.${index + 1}`) };
    const hosts = Object.fromEntries(names.map((name) => [name, twenty]));
    const route = await resolve({ ...hosts, 'example.test': { MX: names.map((name, index) => [index, name]) } });
    expect(hostNames(route)).toEqual(names.slice(0, 5));
    expect(addresses(route)).toHaveLength(10);
  });

  it('gives all ten addresses to a host that stands alone', async () => {
    const route = await resolve({ 'example.test': { A: Array.from({ length: 20 }, (_v, index) => `8.8.4.${index}`) } });
    expect(addresses(route)).toHaveLength(10);
  });

  it('skips mail exchangers without an address, but looks at no more than fifty', async () => {
    const records = Array.from({ length: 60 }, (_value, index) => [index, `mx${index}.test`] as const);
    const { router, dns } = await setUp({ 'example.test': { MX: records }, 'mx49.test': PUBLIC, 'mx50.test': PUBLIC });
    expect(hostNames(await router.resolve('example.test'))).toEqual(['mx49.test']);
    expect(dns.queries).not.toContain('A mx50.test');
  });
});

describe('no route, for good', () => {
  const permanent = (enhancedCode: string) =>
    expect.objectContaining({ kind: 'unroutable', permanent: true, enhancedCode }) as Route;

  it('to a domain that does not exist', async () => {
    expect(await resolve({})).toEqual(permanent('5.1.2'));
  });

  it.each(['[192.0.2.1]', '192.0.2.1', '', 'exa mple.test', 'a..b'])('to %j, which is no domain', async (name) => {
    expect(await resolve({}, {}, name)).toEqual(permanent('5.1.2'));
  });

  it('to a domain with a null MX, although it has an address', async () => {
    expect(await resolve({ 'example.test': { MX: [[0, '.']], ...PUBLIC } })).toEqual(permanent('5.1.10'));
  });

  it('to a domain without any record, or with exchangers that have none', async () => {
    expect(await resolve({ 'example.test': { TXT: ['x'] } })).toEqual(permanent('5.4.4'));
    expect(await resolve({ 'example.test': { MX: [[5, 'gone.test']] } })).toEqual(permanent('5.4.4'));
  });

  it('through an exchange that is an address', async () => {
    const route = await resolve({ 'example.test': { MX: [[5, '127.0.0.1'], [6, '10.0.0.1']] } }); // prettier-ignore
    expect(route).toEqual(permanent('5.4.4'));
    expect(route).toMatchObject({
      ruleId: 'mx-names-no-host',
      reason: expect.stringMatching(/^The MX records .* name no host: an address/),
    });
  });

  it.each([
    ['127.0.0.1', undefined],
    ['10.1.2.3', undefined],
    ['169.254.169.254', undefined],
    [undefined, '::1'],
    [undefined, 'fe80::1'],
    [undefined, '::ffff:127.0.0.1'],
    [undefined, '64:ff9b::7f00:1'],
    [undefined, '2002:7f00:1::'],
  ])('to an address that is not public: %s %s', async (four, six) => {
    const records = { ...(four !== undefined && { A: [four] }), ...(six !== undefined && { AAAA: [six] }) };
    expect(await resolve({ 'example.test': { MX: [[5, 'mx.test']] }, 'mx.test': records })).toEqual(permanent('5.4.4'));
  });

  it('when all exchangers lead back here', async () => {
    const zones: DnsZones = { 'example.test': { MX: [[5, 'Us.test'], [9, 'b.test']] }, 'us.test': PUBLIC, 'b.test': PUBLIC }; // prettier-ignore
    expect(await resolve(zones, { ownHostNames: ['us.test'] })).toEqual(permanent('5.4.6'));
  });
});

describe('a host whose mail this service takes', () => {
  const zones: DnsZones = { 'example.test': { MX: [[5, 'us.test'], [9, 'b.test']] }, 'us.test': PUBLIC, 'b.test': PUBLIC }; // prettier-ignore

  it('has the exchangers that its records name, this service among them', async () => {
    const receives = jest.fn(() => Promise.resolve(true));
    expect(hostNames(await resolve(zones, { ownHostNames: ['us.test'], receives }))).toEqual(['us.test', 'b.test']);
    expect(receives).toHaveBeenCalledWith('example.test');
  });

  it('has no route for now while that is not known', async () => {
    const receives = () => Promise.reject(new Error('no database'));
    expect(await resolve(zones, { ownHostNames: ['us.test'], receives })).toMatchObject({
      ...{ kind: 'unroutable', permanent: false, reason: expect.stringContaining('unknown now') },
    });
  });

  it('is asked for only when the records lead back', async () => {
    const receives = jest.fn(() => Promise.resolve(true));
    await resolve({ 'example.test': PUBLIC }, { ownHostNames: ['us.test'], receives });
    expect(receives).not.toHaveBeenCalled();
  });
});

describe('addresses and hosts that are passed over', () => {
  it('are those that are not public, while others are', async () => {
    const zones: DnsZones = { 'example.test': { MX: [[5, 'a.test'], [9, 'b.test']] }, 'a.test': { A: ['10.0.0.1'] }, 'b.test': { A: ['192.168.0.1', '8.8.4.1'] } }; // prettier-ignore
    expect(await resolve(zones)).toMatchObject({ hosts: [{ hostName: 'b.test', addresses: ['8.8.4.1'] }] });
  });

  it('are none when private destinations are allowed', async () => {
    const options = { allowPrivateDestinations: true, port: 2525 };
    const route = await resolve({ 'example.test': { A: ['127.0.0.1'], AAAA: ['::1'] } }, options);
    expect(route).toMatchObject({ port: 2525, hosts: [{ addresses: ['127.0.0.1', '::1'] }] });
  });

  it('are those that are not preferred to ourselves', async () => {
    const zones: DnsZones = { 'example.test': { MX: [[5, 'a.test'], [9, 'us.test'], [9, 'b.test']] }, 'a.test': PUBLIC, 'b.test': PUBLIC }; // prettier-ignore
    expect(hostNames(await resolve(zones, { ownHostNames: ['us.test'] }))).toEqual(['a.test']);
  });
});

describe('no route for now', () => {
  const temporary = expect.objectContaining({ kind: 'unroutable', permanent: false, enhancedCode: '4.4.3' }) as Route;

  it.each(['servfail', 'refused', 'silent', 'garbage'] as const)('when the look-up returns %s', async (fault) => {
    expect(await resolve({ 'example.test': fault })).toEqual(temporary);
  });

  it('when the addresses of one exchanger are unknown and no other has one', async () => {
    const zones: DnsZones = { 'example.test': { MX: [[5, 'a.test'], [9, 'gone.test']] }, 'a.test': 'servfail' }; // prettier-ignore
    expect(await resolve(zones)).toEqual(temporary);
  });

  it('when the time for all look-ups is over', async () => {
    const { router } = await setUp({ 'example.test': 'silent' }, { totalTimeoutMs: 50 }, 20_000);
    expect(await router.resolve('example.test')).toEqual(temporary);
  });

  it('but results in time are used', async () => {
    const zones: DnsZones = { 'example.test': { MX: [[5, 'a.test'], [9, 'b.test']] }, 'a.test': 'silent', 'b.test': PUBLIC }; // prettier-ignore
    const { router } = await setUp(zones, { totalTimeoutMs: 2_000 }, 20_000);
    expect(hostNames(await router.resolve('example.test'))).toEqual(['b.test']);
  });
});

describe('the cache', () => {
  async function lifeOf(zones: DnsZones, options: DirectRouterOptions = {}): Promise<number> {
    const { router, dns, clock } = await setUp(zones, options);
    for (let seconds = 0; seconds < 400; seconds += 5) {
      await router.resolve('example.test');
      if (dns.queries.filter((query) => query === 'MX example.test').length > 1) return seconds;
      clock.advance(5 * SECOND);
    }
    return Infinity;
  }

  it('keeps a route as long as its addresses live, between ten seconds and five minutes', async () => {
    expect(await lifeOf({ 'example.test': { ...PUBLIC, ttlSeconds: 60 } })).toBe(60);
    expect(await lifeOf({ 'example.test': { ...PUBLIC, ttlSeconds: 0 } })).toBe(10);
    expect(await lifeOf({ 'example.test': { ...PUBLIC, ttlSeconds: 86_400 } })).toBe(300);
  });

  it('keeps a refusal for a minute and trouble for less', async () => {
    expect(await lifeOf({})).toBe(60);
    expect(await lifeOf({ 'example.test': 'refused' })).toBe(15);
  });

  it('is bounded', async () => {
    const { router, dns } = await setUp({ 'a.test': PUBLIC, 'b.test': PUBLIC }, { maximumCached: 1 });
    for (const name of ['a.test', 'b.test', 'a.test']) await router.resolve(name);
    expect(dns.queries.filter((query) => query === 'MX a.test')).toHaveLength(2);
  });

  it('lets callers at the same time share one look-up', async () => {
    const { router, dns } = await setUp({ 'example.test': PUBLIC });
    const routes = await Promise.all(Array.from({ length: 50 }, () => router.resolve('example.test')));
    expect(new Set(routes.map((route) => addresses(route).join())).size).toBe(1);
    expect(dns.queries.filter((query) => query === 'MX example.test')).toHaveLength(1);
  });

  it('does not delay a look-up behind those of another organization', async () => {
    const { router, dns } = await setUp({ 'example.test': PUBLIC });
    const ask = (holder: string) => router.resolve('example.test', { holder });
    await Promise.all([ask('noisy'), ask('quiet'), ask('quiet')]);
    expect(dns.queries.filter((query) => query === 'MX example.test')).toHaveLength(2);
  });

  it('shares no failure of an organization, whose look-ups wait behind its others, with other organizations', async () => {
    const { dns, clock } = await setUp({ 'example.test': PUBLIC });
    const router = new DirectRouter(new CrowdedResolver({ servers: [dns.endpoint] }), clock);
    const ask = (holder: string) => router.resolve('example.test', { holder });
    expect(await ask('noisy')).toMatchObject({ kind: 'unroutable', permanent: false });
    expect(await ask('quiet')).toMatchObject({ kind: 'hosts' });
    expect(await ask('noisy')).toMatchObject({ kind: 'hosts' });
  });

  it('keeps a part that one organization has found from no other', async () => {
    const zones: DnsZones = { 'example.test': { MX: [[5, 'a.test'], [9, 'b.test']] }, 'a.test': PUBLIC, 'b.test': PUBLIC }; // prettier-ignore
    const { dns, clock } = await setUp(zones);
    const router = new DirectRouter(new CrowdedResolver({ servers: [dns.endpoint] }, 'a.test'), clock);
    const ask = async (holder: string) => hostNames(await router.resolve('example.test', { holder }));
    expect(await ask('noisy')).toEqual(['b.test']);
    expect(await ask('quiet')).toEqual(['a.test', 'b.test']);
    expect(await ask('noisy')).toEqual(['a.test', 'b.test']);
  });
});

/** `noisy` has too many look-ups: that of mail exchangers, or of one host's addresses, ends without a result. */
class CrowdedResolver extends NodeDnsResolver {
  constructor(
    options: NodeDnsResolverOptions,
    private readonly host?: string,
  ) {
    super(options);
  }

  override resolveMx(name: string, options: LookupOptions = {}): Promise<DnsAnswer<MxRecord>> {
    const isOver = options.holder === 'noisy' && this.host === undefined;
    return isOver ? Promise.resolve(OVER) : super.resolveMx(name, options);
  }

  override resolveAddresses(name: string, options: LookupOptions = {}): Promise<DnsAnswer<IpAddress>> {
    const isOver = options.holder === 'noisy' && this.host === name;
    return isOver ? Promise.resolve(OVER) : super.resolveAddresses(name, options);
  }
}

const OVER = { kind: 'temporary', reason: 'EBUSY' } as const;
