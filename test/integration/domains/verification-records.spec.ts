import type { DnsResolver } from '../../../src/common/dns/dns-resolver';
import { NodeDnsResolver } from '../../../src/common/dns/node-dns-resolver';
import { checkRecords } from '../../../src/modules/domains/verification/check-records';
import {
  inboundRecords,
  type RecordPurpose,
  type WantedRecord,
  wantedRecords,
} from '../../../src/modules/domains/registry/wanted-records';
import { DnsLookups } from '../../../src/modules/domains/verification/dns-lookups';
import { DnsServer, type DnsZones, patienceWith } from '../../doubles/dns-server';
import { testConfig } from '../../setup/core-context';

const DOMAIN = 'mail.acme.example';
const ID = '01900000-0000-7000-8000-000000000001';
/** As long as a real one: its record needs two strings and TCP. */
const KEY = 'MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8A'.repeat(13);
const KEYS = [{ selector: 'wb1', publicKey: KEY, state: 'active' }] as const;
const NAMED = { id: ID, domain: DOMAIN, verificationToken: 'abc' };

const HOSTS = { verification: `_waybill.${DOMAIN}`, dkim: `wb1._domainkey.${DOMAIN}`, spf: DOMAIN, dmarc: `_dmarc.${DOMAIN}`, return_path: `bounce.${DOMAIN}`, tracking: `click.${DOMAIN}` }; // prettier-ignore

function wanted(env: Record<string, string> = {}): WantedRecord[] {
  return wantedRecords(NAMED, KEYS, testConfig({ MAIL_HOST: 'mx.waybill.test', ...env }).dns);
}

const VALUES = Object.fromEntries(wanted().map(({ purpose, value }) => [purpose, value])) as Record<
  RecordPurpose,
  string
>;
const DKIM_CHUNKS = [VALUES.dkim.slice(0, 255), VALUES.dkim.slice(255)];

const COMPLETE: DnsZones = {
  [HOSTS.verification]: { TXT: [VALUES.verification] },
  [HOSTS.dkim]: { TXT: [DKIM_CHUNKS] },
  [HOSTS.spf]: { TXT: [VALUES.spf, 'google-site-verification=x'] },
  [HOSTS.dmarc]: { TXT: [VALUES.dmarc] },
  [HOSTS.return_path]: { CNAME: VALUES.return_path },
  [HOSTS.tracking]: { CNAME: VALUES.tracking },
};

const running: DnsServer[] = [];
afterEach(() => Promise.all(running.splice(0).map((dns) => dns.stop())));

async function checkerOn(zones: DnsZones) {
  const dns = await DnsServer.start(zones);
  running.push(dns);
  const options = { servers: [dns.endpoint], queryTimeoutMs: patienceWith(zones) };
  const resolver: DnsResolver = new NodeDnsResolver(options);
  return {
    dns,
    checker: {
      check: (records: readonly WantedRecord[], domain: string, keys?: Parameters<typeof checkRecords>[3]) =>
        checkRecords(resolver, records, domain, keys),
    },
  };
}

/** The check of one record, with everything else as it should be. */
async function check(purpose: keyof typeof HOSTS, zones: DnsZones) {
  const { checker } = await checkerOn({ ...COMPLETE, ...zones });
  const records = wanted();
  const checks = await checker.check(records, DOMAIN);
  const index = records.findIndex((record) => record.purpose === purpose);
  const others = checks.filter((_check, at) => at !== index).map(({ result }) => result);
  return { ...checks[index]!, others: [...new Set(others)] };
}

const says = (result: string, problem: string) => ({ result, problem: expect.stringContaining(problem), others: ['verified'] }); // prettier-ignore

describe('a complete set of records', () => {
  it('is verified, in the order of the records', async () => {
    const { checker, dns } = await checkerOn(COMPLETE);
    expect(await checker.check(wanted(), DOMAIN)).toEqual(wanted().map(() => ({ result: 'verified' })));
    expect(await checker.check(wanted().slice(3, 5).toReversed(), DOMAIN)).toEqual([{ result: 'verified' }, { result: 'verified' }]); // prettier-ignore
    expect(dns.queries).toContain(`TXT ${HOSTS.verification}`);
  });

  it('is looked up again every time', async () => {
    const { checker, dns } = await checkerOn(COMPLETE);
    await checker.check(wanted(), DOMAIN);
    dns.set({ [HOSTS.verification]: { TXT: ['other'] } });
    expect((await checker.check(wanted(), DOMAIN))[0]).toMatchObject({ result: 'wrong' });
    dns.set(COMPLETE);
    expect((await checker.check(wanted(), DOMAIN))[0]).toEqual({ result: 'verified' });
  });
});

describe('the MX of an inbound route', () => {
  const HOST = 'in.acme.example';
  const looked = async (zones: DnsZones) => {
    const { checker } = await checkerOn(zones);
    const [result] = await checker.check(inboundRecords([HOST], 'Mail.waybill.example'), DOMAIN);
    return result;
  };

  it.each<[string, DnsZones, object]>([
    ['leads here', { [HOST]: { MX: [[10, 'mail.waybill.example']] } }, { result: 'verified' }],
    [
      'leads here beside others',
      {
        [HOST]: {
          MX: [
            [5, 'mx.other.example'],
            [10, 'mail.waybill.example'],
          ],
        },
      },
      { result: 'verified' },
    ],
    ['leads elsewhere', { [HOST]: { MX: [[10, 'mx.other.example']] } }, { result: 'wrong' }],
    ['is the null MX', { [HOST]: { MX: [[0, '.']] } }, { result: 'wrong' }],
    ['is not there', { [HOST]: { A: ['192.0.2.1'] } }, { result: 'missing' }],
    ['has no name', {}, { result: 'missing' }],
    ['gets no answer', { [HOST]: 'servfail' }, { result: 'unreachable' }],
  ])('%s', async (_what, zones, expected) => expect(await looked(zones)).toMatchObject(expected));

  it('is shown exactly as found, without the texts beside it', async () => {
    const MX: [number, string][] = [
      [10, 'mx.other.example'],
      [20, 'mx2.other.example'],
    ];
    const { dns } = await checkerOn({ [HOST]: { MX, TXT: ['v=spf1 -all'] } });
    const resolver = new NodeDnsResolver({ servers: [dns.endpoint], queryTimeoutMs: 30_000 });
    const lookups = new DnsLookups(resolver);
    const records = inboundRecords([HOST], 'mail.waybill.example');
    await Promise.all([checkRecords(resolver, records, DOMAIN, [], lookups), lookups.txt(HOST)]);
    expect(records.flatMap((record) => [...lookups.seenAt(record)].sort())).toEqual([
      '10 mx.other.example',
      '20 mx2.other.example',
    ]);
    expect(lookups.seenAt({ host: HOST, type: 'TXT' })).toEqual(['v=spf1 -all']);
  });
});

describe('every record', () => {
  const purposes = Object.keys(HOSTS) as (keyof typeof HOSTS)[];

  it.each(purposes)('%s is missing where the name does not exist', async (purpose) => {
    const { checker } = await checkerOn({});
    const index = wanted().findIndex((record) => record.purpose === purpose);
    const checks = await checker.check(wanted(), DOMAIN);
    expect(checks[index]).toEqual({ result: 'missing', problem: expect.stringContaining(HOSTS[purpose]) });
  });

  it.each(purposes)('%s is missing where the name has other records only', async (purpose) => {
    expect(await check(purpose, { [HOSTS[purpose]]: { MX: [[10, 'mx.acme.example']] } })).toMatchObject({
      result: 'missing',
      others: ['verified'],
    });
  });

  it.each(
    purposes.flatMap((purpose) =>
      (['servfail', 'refused', 'silent', 'garbage'] as const).map((fault) => [purpose, fault] as const),
    ),
  )('%s is unreachable where the answer is: %s', async (purpose, fault) => {
    expect(await check(purpose, { [HOSTS[purpose]]: fault })).toEqual(
      says('unreachable', `The DNS servers of ${HOSTS[purpose]} gave no usable answer`),
    );
  });

  it('is unreachable when there is no DNS server at all', async () => {
    const { checker, dns } = await checkerOn({});
    await dns.stop();
    running.pop();
    const checks = await checker.check(wanted(), DOMAIN);
    expect(checks.map(({ result }) => result)).toEqual(wanted().map(() => 'unreachable'));
  });
});

describe('a TXT record', () => {
  it('is found among several, in chunks, and over TCP', async () => {
    const many = Array.from({ length: 20 }, (_value, index) => `other-verification=${'x'.repeat(60)}${index}`);
    const text = VALUES.verification;
    const zones = { [HOSTS.verification]: { TXT: [...many, [text.slice(0, 7), text.slice(7)]] } };
    expect(await check('verification', zones)).toMatchObject({ result: 'verified' });
    const truncated = { [HOSTS.verification]: { TXT: [text], truncated: true } };
    expect(await check('verification', truncated)).toMatchObject({ result: 'verified' });
  });

  it('is found behind an alias', async () => {
    const zones = { [HOSTS.dmarc]: { CNAME: 'dmarc.provider.example' }, 'dmarc.provider.example': { TXT: ['v=DMARC1; p=reject'] } }; // prettier-ignore
    expect(await check('dmarc', zones)).toMatchObject({ result: 'verified' });
  });

  it('with another key is wrong', async () => {
    const zones = { [HOSTS.dkim]: { TXT: [`v=DKIM1; k=rsa; p=${KEY.slice(0, 100)}`] } };
    expect(await check('dkim', zones)).toEqual(says('wrong', 'is cut off'));
    expect(await check('dkim', { [HOSTS.dkim]: { TXT: ['v=DKIM1; p='] } })).toEqual(says('wrong', 'revoked'));
    const two = { [HOSTS.dkim]: { TXT: [DKIM_CHUNKS, 'v=DKIM1; p=AAAA'] } };
    expect(await check('dkim', two)).toEqual(says('wrong', 'more than one'));
  });
});

describe('SPF', () => {
  it('counts when the include is nested', async () => {
    const zones = {
      [HOSTS.spf]: { TXT: ['v=spf1 include:_spf.acme.example ~all'] },
      '_spf.acme.example': { TXT: ['v=spf1 redirect=_all.acme.example'] },
      '_all.acme.example': { TXT: [VALUES.spf] },
    };
    expect(await check('spf', zones)).toMatchObject({ result: 'verified' });
  });

  it('is wrong in a loop, unreachable when the nested record is', async () => {
    const own = { [HOSTS.spf]: { TXT: ['v=spf1 include:_spf.acme.example ~all'] } };
    const loop = { ...own, '_spf.acme.example': { TXT: [`v=spf1 include:${DOMAIN} ~all`] } };
    expect(await check('spf', loop)).toEqual(says('wrong', 'include each other'));
    expect(await check('spf', { ...own, '_spf.acme.example': 'servfail' })).toEqual(says('unreachable', '_spf.acme.example')); // prettier-ignore
  });
});

describe('DMARC', () => {
  it('is inherited from the organizational domain', async () => {
    const inherited = { [HOSTS.dmarc]: {}, '_dmarc.acme.example': { TXT: ['v=DMARC1; p=reject; sp=quarantine'] } };
    expect(await check('dmarc', inherited)).toMatchObject({ result: 'verified' });
    const wrong = { [HOSTS.dmarc]: {}, '_dmarc.acme.example': { TXT: ['v=DMARC1'] } };
    expect(await check('dmarc', wrong)).toEqual(says('wrong', '_dmarc.acme.example has no p= tag'));
    const silent: DnsZones = { [HOSTS.dmarc]: {}, '_dmarc.acme.example': 'servfail' };
    expect(await check('dmarc', silent)).toEqual(says('unreachable', '_dmarc.acme.example'));
  });

  it('of its own counts first', async () => {
    const zones = { [HOSTS.dmarc]: { TXT: ['v=DMARC1'] }, '_dmarc.acme.example': { TXT: ['v=DMARC1; p=reject'] } };
    expect(await check('dmarc', zones)).toEqual(says('wrong', `_dmarc.${DOMAIN} has no p= tag`));
  });
});

describe('a CNAME', () => {
  const host = HOSTS.return_path;
  const chain = (length: number): DnsZones => {
    const names = [host, ...Array.from({ length: length - 1 }, (_value, index) => `hop${index}.example`)];
    return Object.fromEntries(names.map((name, index) => [name, { CNAME: names[index + 1] ?? VALUES.return_path }]));
  };

  it('counts through up to eight, in any case', async () => {
    expect(await check('return_path', chain(8))).toMatchObject({ result: 'verified' });
    expect(await check('return_path', chain(9))).toEqual(says('wrong', 'more than 8'));
    expect(await check('return_path', { [host]: { CNAME: 'MX.Waybill.TEST' } })).toMatchObject({ result: 'verified' });
  });

  it('in a circle is wrong', async () => {
    const zones = { [host]: { CNAME: 'hop.example' }, 'hop.example': { CNAME: host } };
    expect(await check('return_path', zones)).toEqual(says('wrong', 'in a circle'));
  });

  it('to elsewhere is wrong, whether that exists or not', async () => {
    const zones: DnsZones = { [host]: { CNAME: 'elsewhere.example' } };
    expect(await check('return_path', zones)).toEqual(says('wrong', 'leads to "elsewhere.example"; it must lead to mx.waybill.test')); // prettier-ignore
    const known = { ...zones, 'elsewhere.example': { A: ['192.0.2.1'] } };
    expect(await check('return_path', known)).toEqual(says('wrong', 'leads to "elsewhere.example"'));
    expect(await check('return_path', { ...zones, 'elsewhere.example': 'servfail' })).toEqual(
      says('unreachable', host),
    );
  });

  it.each([{ A: ['192.0.2.1'] }, { AAAA: ['2001:db8::1'] }])('that is flattened cannot be proven: %j', async (zone) => {
    expect(await check('return_path', { [host]: zone })).toEqual(says('wrong', 'has addresses instead of a CNAME'));
  });
});

describe('the CNAMEs into a delegated zone', () => {
  const ZONE = { DKIM_ZONE: 'dkim.waybill.test' };
  const [one, two] = ['wb1', 'wb2'].map((selector) => ({
    host: `${selector}._domainkey.${DOMAIN}`,
    target: `${selector}.${ID}.dkim.waybill.test`,
  })) as [{ host: string; target: string }, { host: string; target: string }];
  const SET: DnsZones = {
    [one.host]: { CNAME: one.target },
    [two.host]: { CNAME: two.target },
    [one.target]: { TXT: [DKIM_CHUNKS] },
  };

  async function checkKeys(zones: DnsZones) {
    const { checker } = await checkerOn(zones);
    const records = wanted(ZONE).filter(({ purpose }) => purpose === 'dkim');
    return checker.check(records, DOMAIN, KEYS);
  }

  it('are verified when the key is seen through the one that signs', async () => {
    expect(await checkKeys(SET)).toEqual([{ result: 'verified' }, { result: 'verified' }]);
  });

  it('are evaluated one by one', async () => {
    expect((await checkKeys({ ...SET, [two.host]: {} })).map(({ result }) => result)).toEqual(['verified', 'missing']);
  });

  it('wait until the zone returns the key', async () => {
    expect((await checkKeys({ ...SET, [one.target]: {} }))[0]).toEqual({ result: 'missing', problem: expect.stringContaining(`${one.target} does not answer with the key yet`) }); // prettier-ignore
    expect((await checkKeys({ ...SET, [one.target]: { TXT: ['v=DKIM1; p=AAAA'] } }))[0]).toMatchObject({ result: 'wrong' }); // prettier-ignore
    expect((await checkKeys({ ...SET, [one.target]: 'servfail' }))[0]).toMatchObject({ result: 'unreachable' });
  });

  it('count when the provider returns the key itself', async () => {
    expect((await checkKeys({ ...SET, [one.host]: { TXT: [DKIM_CHUNKS] } }))[0]).toEqual({ result: 'verified' });
    const other = { ...SET, [one.host]: { TXT: ['v=DKIM1; p=AAAA'] } };
    expect((await checkKeys(other))[0]).toMatchObject({
      result: 'wrong',
      problem: expect.stringContaining('no CNAME'),
    });
  });

  it('to another domain are wrong', async () => {
    const zones = { ...SET, [one.host]: { CNAME: 'wb1.other.dkim.waybill.test' } };
    expect((await checkKeys(zones))[0]).toMatchObject({
      result: 'wrong',
      problem: expect.stringContaining(one.target),
    });
  });
});

describe('a check', () => {
  it('sends at most forty queries, whatever the zone contains', async () => {
    const names = Array.from({ length: 200 }, (_value, index) => `n${index}.example`);
    const endless = Object.fromEntries(names.map((name, index) => [name, { CNAME: names[index + 1] ?? name }]));
    const records = wanted();
    const hosts = Object.fromEntries(records.map(({ host }, index) => [host, { CNAME: names[index * 20]! }]));
    const { checker, dns } = await checkerOn({ ...endless, ...hosts });
    const aliases = records.filter(({ type }) => type === 'CNAME');
    await checker.check([...aliases, ...aliases, ...aliases, ...aliases, ...aliases], DOMAIN);
    expect(dns.queries.length).toBeLessThanOrEqual(40);
  });
});
