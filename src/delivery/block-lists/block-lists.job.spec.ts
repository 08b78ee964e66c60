import { DnsServer } from '../../../test/doubles/dns-server';
import { NodeDnsResolver } from '../../common/dns/node-dns-resolver';
import { listingName, lookUp, ownAddresses } from './block-lists.job';

describe('the name of a listing', () => {
  it.each([
    ['192.0.2.99', '99.2.0.192.list.example'],
    ['2001:db8::1', `1.${'0.'.repeat(23)}8.b.d.0.1.0.0.2.list.example`],
  ])('of %s', (address, name) => expect(listingName(address, 'list.example')).toBe(name));

  it('is none for what is no address', () => expect(listingName('mail.example.com', 'list.example')).toBeUndefined());
});

describe('a look-up', () => {
  let dns: DnsServer;
  let resolver: NodeDnsResolver;
  beforeAll(async () => {
    dns = await DnsServer.start({
      '99.2.0.192.listed.example': { A: ['127.0.0.2', '127.0.0.4'], TXT: ['https://listed.example/?ip=192.0.2.99'] },
      '99.2.0.192.silent.example': 'servfail',
      '99.2.0.192.refusing.example': { A: ['127.255.255.254'], TXT: ['open resolver'] },
      '99.2.0.192.invented.example': { A: ['198.51.100.1'] },
      'failing.example.com': 'servfail',
      'half.example.com': { A: 'servfail', AAAA: ['2606:4700::1'] },
      'mail.example.com': { A: ['8.8.4.4', '10.0.0.1'], AAAA: ['2606:4700::1'] },
    });
    resolver = new NodeDnsResolver({ servers: [dns.endpoint] });
  });
  afterAll(() => dns.stop());

  it('distinguishes a listing from silence, from a refusal and from an invented response', async () => {
    const lists = ['listed', 'clear', 'silent', 'refusing', 'invented'].map((name) => `${name}.example`);
    const found = await lookUp(resolver, '192.0.2.99', lists);
    expect(found.map(({ list, state }) => [list, state])).toEqual([
      ['listed.example', 'listed'],
      ['clear.example', 'clear'],
      ['silent.example', 'unknown'],
      ['refusing.example', 'unknown'],
      ['invented.example', 'unknown'],
    ]);
    expect(found[0]?.reply).toBe('127.0.0.2, 127.0.0.4: https://listed.example/?ip=192.0.2.99');
    expect(found[3]?.reply).toContain('DNS_SERVERS');
  });

  it('is made of public addresses only, each once', async () => {
    expect(await ownAddresses(resolver, 'mail.example.com', ['8.8.8.8', '127.0.0.2', '8.8.4.4'])).toEqual([
      '8.8.8.8',
      '8.8.4.4',
      '2606:4700::1',
    ]);
    expect(await ownAddresses(resolver, 'nowhere.example', [])).toEqual([]);
  });

  it('is made of those that were known before, too, while one family of the name or both do not answer', async () => {
    const known = ['8.8.4.4', '1.1.1.1'];
    expect(await ownAddresses(resolver, 'failing.example.com', ['8.8.8.8'], known)).toEqual(['8.8.8.8', ...known]);
    expect(await ownAddresses(resolver, 'half.example.com', [], known)).toEqual(['2606:4700::1', ...known]);
    expect(await ownAddresses(resolver, 'mail.example.com', [], known)).toEqual(['8.8.4.4', '2606:4700::1']);
    expect(await ownAddresses(resolver, 'nowhere.example', [], known)).toEqual([]);
  });
});
