import { promises } from 'node:dns';
import { LOOK_UPS } from '../../../src/common/dns/look-up-thread';
import { NodeDnsResolver } from '../../../src/common/dns/node-dns-resolver';
import { DnsServer } from '../../doubles/dns-server';

const many = Array.from({ length: 10_000 }, (_value, index) => [index, `mx${index}.test`] as const);

describe('NodeDnsResolver', () => {
  let dns: DnsServer;
  let resolver: NodeDnsResolver;
  let impatient: NodeDnsResolver;

  beforeAll(async () => {
    dns = await DnsServer.start({
      'mail.test': { MX: [[10, 'MX1.Mail.Test.'], [20, 'mx2.mail.test']], A: ['192.0.2.1'] }, // prettier-ignore
      'null.test': { MX: [[0, '.']] },
      'both.test': { A: ['192.0.2.1', '192.0.2.2'], AAAA: ['2001:db8::1'], ttlSeconds: 77 },
      'four.test': { A: ['192.0.2.1'], AAAA: 'servfail' },
      'half.test': { A: 'servfail' },
      'text.test': { TXT: ['v=spf1 -all', ['part one, ', 'part two']] },
      'alias.test': { CNAME: 'alias2.test' },
      'alias2.test': { CNAME: 'both.test' },
      'loop1.test': { CNAME: 'loop2.test' },
      'loop2.test': { CNAME: 'loop1.test' },
      '1.2.0.192.in-addr.arpa': { PTR: ['MX1.Mail.Test.', 'mail.test'] },
      [`8.${'0.'.repeat(23)}8.b.d.0.1.0.0.2.ip6.arpa`]: { PTR: ['six.test'] },
      'large.test': { A: ['192.0.2.9'], truncated: true },
      'many.test': { MX: many },
      'crowd.test': {
        A: Array.from({ length: 1_000 }, (_value, index) => `192.0.${index >> 8}.${index & 255}`),
        AAAA: Array.from({ length: 1_000 }, (_value, index) => `2001:db8::${index.toString(16)}`),
      },
      'servfail.test': 'servfail',
      'refused.test': 'refused',
      'garbage.test': 'garbage',
      'silent.test': 'silent',
    });
    resolver = new NodeDnsResolver({ servers: [dns.endpoint], queryTimeoutMs: 30_000 });
    impatient = new NodeDnsResolver({ servers: [dns.endpoint], queryTimeoutMs: 200 });
  });

  afterAll(() => dns.stop());

  it('returns mail exchangers in lower case, without the last dot', async () => {
    await expect(resolver.resolveMx('mail.test')).resolves.toEqual({
      kind: 'found',
      records: [
        { preference: 10, exchange: 'mx1.mail.test' },
        { preference: 20, exchange: 'mx2.mail.test' },
      ],
    });
  });

  it('shows a null MX as an empty exchange', async () => {
    const answer = await resolver.resolveMx('null.test');
    expect(answer).toEqual({ kind: 'found', records: [{ preference: 0, exchange: '' }] });
  });

  it('returns the addresses of both families with their time to live', async () => {
    await expect(resolver.resolveAddresses('both.test')).resolves.toEqual({
      kind: 'found',
      records: [
        { address: '192.0.2.1', family: 4 },
        { address: '192.0.2.2', family: 4 },
        { address: '2001:db8::1', family: 6 },
      ],
      ttlSeconds: 77,
    });
  });

  it('returns the first addresses of a name with very many', async () => {
    const answer = await resolver.resolveAddresses('crowd.test');
    const records = answer.kind === 'found' ? answer.records : [];
    expect(records.filter(({ family }) => family === 4)).toHaveLength(64);
    expect(records.filter(({ family }) => family === 6)).toHaveLength(64);
    expect(records[0]).toEqual({ address: '192.0.0.0', family: 4 });
  });

  it('returns the addresses of one family although the other fails', async () => {
    const answer = await resolver.resolveAddresses('four.test');
    expect(answer).toMatchObject({ kind: 'found', records: [{ address: '192.0.2.1', family: 4 }], failedFamily: 6 });
  });

  it('concludes nothing when one family fails and the other has no address', async () => {
    await expect(resolver.resolveAddresses('half.test')).resolves.toMatchObject({ kind: 'temporary' });
  });

  it('joins the strings of a TXT record', async () => {
    const answer = await resolver.resolveTxt('text.test');
    expect(answer).toEqual({ kind: 'found', records: ['v=spf1 -all', 'part one, part two'] });
  });

  it('follows aliases and shows them', async () => {
    await expect(resolver.resolveAddresses('alias.test')).resolves.toMatchObject({ kind: 'found' });
    await expect(resolver.resolveCname('alias.test')).resolves.toEqual({ kind: 'found', records: ['alias2.test'] });
  });

  it('returns the names of an address of either family', async () => {
    const four = { kind: 'found', records: ['mx1.mail.test', 'mail.test'] };
    await expect(resolver.resolvePtr('192.0.2.1')).resolves.toEqual(four);
    await expect(resolver.resolvePtr('2001:db8::8')).resolves.toEqual({ kind: 'found', records: ['six.test'] });
    await expect(resolver.resolvePtr('192.0.2.2')).resolves.toEqual({ kind: 'no-domain' });
    await expect(resolver.resolvePtr('mail.test')).resolves.toEqual({ kind: 'no-domain' });
  });

  it('ends in no data on a loop of aliases', async () => {
    await expect(resolver.resolveMx('loop1.test')).resolves.toEqual({ kind: 'no-data' });
  });

  it('repeats a query over TCP when the response is truncated', async () => {
    const answer = await resolver.resolveAddresses('large.test');
    expect(answer).toMatchObject({ kind: 'found', records: [{ address: '192.0.2.9' }] });
  });

  it('looks up in a thread, so that no reply holds up the event loop', async () => {
    const here = (['resolve4', 'resolve6'] as const).map((name) => jest.spyOn(promises.Resolver.prototype, name));
    await expect(resolver.resolveAddresses('crowd.test')).resolves.toMatchObject({ kind: 'found' });
    for (const spy of here) expect(spy).not.toHaveBeenCalled();
  });

  it('concludes nothing when the thread ends, and starts another', async () => {
    const lost = resolver.resolveMx('silent.test', { holder: 'other' });
    await LOOK_UPS['threads'].usual['worker']?.terminate();
    await expect(lost).resolves.toEqual({ kind: 'temporary', reason: 'ECANCELLED' });
    await expect(resolver.resolveMx('mail.test')).resolves.toMatchObject({ kind: 'found' });
  });

  it('looks up in another thread for those with such replies, as theirs keep the thread busy', async () => {
    const slow = jest.spyOn(LOOK_UPS['threads'].slow, 'ask');
    await resolver.resolveMx('many.test', { holder: 'noisy' });
    expect(slow).not.toHaveBeenCalled();
    await expect(resolver.resolveMx('mail.test', { holder: 'noisy' })).resolves.toMatchObject({ kind: 'found' });
    expect(slow).toHaveBeenCalledTimes(1);
    await resolver.resolveMx('mail.test', { holder: 'quiet' });
    expect(slow).toHaveBeenCalledTimes(1);
  });

  it('hands on the preferred exchangers of an answer of the greatest length', async () => {
    const answer = await resolver.resolveMx('many.test');
    const records = answer.kind === 'found' ? answer.records : [];
    expect(records).toHaveLength(200);
    expect(records.map(({ preference }) => preference)).toEqual(Array.from(records, (_record, index) => index));
  });

  it('distinguishes a name without such records from a name that does not exist', async () => {
    await expect(resolver.resolveTxt('mail.test')).resolves.toEqual({ kind: 'no-data' });
    await expect(resolver.resolveAddresses('null.test')).resolves.toEqual({ kind: 'no-data' });
    await expect(resolver.resolveMx('nowhere.test')).resolves.toEqual({ kind: 'no-domain' });
    await expect(resolver.resolveAddresses('nowhere.test')).resolves.toEqual({ kind: 'no-domain' });
  });

  it.each([
    ['servfail.test', 'ESERVFAIL'],
    ['refused.test', 'EREFUSED'],
  ])('concludes nothing from the code of %s', async (name, reason) => {
    await expect(resolver.resolveMx(name)).resolves.toEqual({ kind: 'temporary', reason });
  });

  it.each([
    ['garbage.test', expect.stringMatching(/^E/) as string],
    ['silent.test', expect.stringMatching(/ETIMEOUT|ECANCELLED/) as string],
  ])('concludes nothing from a server that sends no usable reply for %s', async (name, reason) => {
    await expect(impatient.resolveMx(name)).resolves.toEqual({ kind: 'temporary', reason });
  });

  it('concludes nothing from a server that is not there', async () => {
    const gone = await DnsServer.start();
    const { endpoint } = gone;
    await gone.stop();
    const lost = new NodeDnsResolver({ servers: [endpoint], queryTimeoutMs: 200 });
    await expect(lost.resolveMx('mail.test')).resolves.toMatchObject({ kind: 'temporary' });
  });

  it('ends a look-up on request, without touching others', async () => {
    const controller = new AbortController();
    const ended = resolver.resolveMx('silent.test', { signal: controller.signal });
    const other = resolver.resolveAddresses('both.test');
    controller.abort();
    await expect(ended).resolves.toEqual({ kind: 'temporary', reason: 'ECANCELLED' });
    await expect(other).resolves.toMatchObject({ kind: 'found' });
    const late = await resolver.resolveMx('mail.test', { signal: controller.signal });
    expect(late).toEqual({ kind: 'temporary', reason: 'ECANCELLED' });
  });

  it.each(['', '.', 'a..b', 'a b.test', 'mail.test\u0000.evil', `${'x'.repeat(64)}.test`])(
    'asks nothing for %j, which is no name',
    async (name) => {
      const before = dns.queries.length;
      await expect(resolver.resolveMx(name)).resolves.toEqual({ kind: 'no-domain' });
      expect(dns.queries).toHaveLength(before);
    },
  );
});
