import { MINUTE } from '../../../src/common/clock';
import { NodeDnsResolver } from '../../../src/common/dns/node-dns-resolver';
import { MtaStsFetcher } from '../../../src/delivery/tls/mta-sts-policy';
import { TlsRepository } from '../../../src/delivery/tls/tls.repository';
import { MtaStsPolicies } from '../../../src/delivery/tls/mta-sts.service';
import { DnsServer } from '../../doubles/dns-server';
import { FakeClock } from '../../doubles/fake-clock';
import { PolicyWebServer } from '../../doubles/policy-web-server';
import { TEST_CERTIFICATE } from '../../doubles/tls-certificate';
import { testConfig } from '../../setup/core-context';
import { type OpenTestDatabase, openTestDatabase } from '../../setup/open-test-database';
import { waitFor } from '../../setup/wait-for';

const DOMAINS = ['a.example', 'b.example', 'slow.example'];
const BUSY = { kind: 'failed', type: 'sts-policy-fetch-error', reason: 'too many', isBusy: true } as const;
const ENFORCE = ['mode: enforce', 'mx: mx.a.example', 'max_age: 86400'];

describe('policies of receiving domains (RFC 8461)', () => {
  let db: OpenTestDatabase;
  let dns: DnsServer;
  let web: PolicyWebServer;

  beforeAll(async () => {
    db = await openTestDatabase({ poolSize: 5 });
    dns = await DnsServer.start();
  });
  beforeEach(async () => {
    web = await PolicyWebServer.start(DOMAINS);
    for (const domain of DOMAINS) announce(domain, 'id1');
  });
  afterEach(async () => {
    await web.stop();
    await db.query('delete from mta_sts_policies');
  });
  afterAll(async () => {
    await dns.stop();
    await db.drop();
  });

  function announce(domain: string, id: string | undefined): void {
    const TXT = id === undefined ? [] : [`v=STSv1; id=${id};`];
    dns.set({ [`_mta-sts.${domain}`]: { TXT }, [`mta-sts.${domain}`]: { A: ['127.0.0.1'] } });
  }

  /** The policies of one process. */
  function worker({ env = { ALLOW_PRIVATE_DESTINATIONS: 'true' }, authorities = web.certificate } = {}) {
    const clock = new FakeClock();
    // To the cache, what was put in at 0 has no age.
    clock.advance(1);
    const config = testConfig({
      DELIVERY_MODE: 'direct',
      MAIL_HOST: 'mail.example.org',
      DNS_SERVERS: dns.endpoint,
      MTA_STS_PORT: String(web.port),
      ...env,
    });
    const fetcher = new MtaStsFetcher(config, authorities);
    const resolver = new NodeDnsResolver({ servers: [dns.endpoint] });
    return {
      clock,
      fetcher,
      policies: new MtaStsPolicies(new TlsRepository(db.database), fetcher, resolver, clock),
    };
  }
  const rows = () => db.query('select * from mta_sts_policies order by domain');

  it('are fetched once, and shared', async () => {
    web.publish('a.example', ...ENFORCE);
    const [one, other] = [worker().policies, worker().policies];
    const states = await Promise.all([one, one, other].map((policies) => policies.policyOf('a.example')));
    const known = { policy: { mode: 'enforce', mx: ['mx.a.example'], maxAgeSeconds: 86_400 } };
    expect(states).toEqual([known, known, known]);
    expect(await worker().policies.policyOf('a.example')).toEqual(known);
    expect(web.requests).toEqual(['a.example']);
    // Of a process that has looked before it was there.
    const [row] = await rows();
    expect(await new TlsRepository(db.database).takePolicyFetch('a.example', row?.policy_id, 60)).toBe(false);
  });

  it('are not looked for where none is announced, nor looked up for each mail', async () => {
    announce('a.example', undefined);
    const { clock, policies } = worker();
    const asked = () => dns.queries.filter((query) => query === 'TXT _mta-sts.a.example').length;
    const before = asked();
    for (let mail = 0; mail < 3; mail += 1) expect(await policies.policyOf('a.example')).toEqual({});
    expect(asked() - before).toBe(1);
    clock.advance(6 * MINUTE);
    await policies.policyOf('a.example');
    expect(asked() - before).toBe(2);
    expect([web.requests, await rows()]).toEqual([[], []]);
  });

  it('are fetched again when the announcement changes, and stay valid when it or the web server is gone', async () => {
    web.publish('a.example', ...ENFORCE);
    expect(await worker().policies.policyOf('a.example')).toMatchObject({ policy: { mode: 'enforce' } });
    web.publish('a.example', 'mode: testing', 'mx: *.b.example', 'max_age: 600');
    expect(await worker().policies.policyOf('a.example')).toMatchObject({ policy: { mode: 'enforce' } });
    announce('a.example', 'id2');
    const changed = { policy: { mode: 'testing', mx: ['*.b.example'], maxAgeSeconds: 600 } };
    expect(await worker().policies.policyOf('a.example')).toEqual(changed);
    announce('a.example', undefined);
    expect(await worker().policies.policyOf('a.example')).toEqual(changed);
    web.answers.set('a.example', { status: 500 });
    announce('a.example', 'id3');
    expect(await worker().policies.policyOf('a.example')).toMatchObject(changed);
    await db.query("update mta_sts_policies set expires_at = now() - interval '1 s'");
    const { policy } = await worker().policies.policyOf('a.example');
    expect(policy).toBeUndefined();
  });

  it.each([
    ['the web server says no', { status: 404 }, 'sts-policy-fetch-error'],
    [
      'it leads elsewhere',
      { status: 301, headers: { location: 'https://mta-sts.b.example/' } },
      'sts-policy-fetch-error',
    ],
    ['it is a page', { headers: { 'content-type': 'text/html' }, body: ENFORCE.join('\n') }, 'sts-policy-invalid'],
    ['it is no policy', { body: 'version: STSv1\nmode: enforce\n' }, 'sts-policy-invalid'],
    ['it has no end', { body: `version: STSv1\n${'mx: a.example\n'.repeat(10_000)}` }, 'sts-policy-invalid'],
  ])('are ignored when %s, and not fetched again for a while', async (_why, answer, type) => {
    web.answers.set('a.example', answer);
    expect(await worker().policies.policyOf('a.example')).toEqual({ failure: { type, reason: expect.any(String) } });
    await worker().policies.policyOf('a.example');
    expect(web.requests).toEqual(['a.example']);
    await db.query("update mta_sts_policies set retry_at = now() - interval '1 s'");
    web.publish('a.example', ...ENFORCE);
    expect(await worker().policies.policyOf('a.example')).toMatchObject({ policy: { mode: 'enforce' } });
  });

  it('count for nothing without a certificate that others vouch for, and are not fetched from private addresses', async () => {
    web.publish('a.example', ...ENFORCE);
    const untrusted = await worker({ authorities: TEST_CERTIFICATE.cert }).policies.policyOf('a.example');
    expect(untrusted).toMatchObject({ failure: { type: 'sts-webpki-invalid' } });
    const guarded = await worker({ env: { ALLOW_PRIVATE_DESTINATIONS: 'false' } }).policies.policyOf('b.example');
    expect(guarded).toMatchObject({ failure: { type: 'sts-policy-fetch-error' } });
    expect(web.requests).toEqual([]);
  });

  it('hold up no other domain while a web server is slow', async () => {
    web.answers.set('slow.example', 'hang');
    web.publish('a.example', ...ENFORCE);
    const { policies } = worker();
    const slow = policies.policyOf('slow.example');
    await waitFor(() => web.requests.includes('slow.example'), { what: 'the request' });
    expect(await policies.policyOf('a.example')).toMatchObject({ policy: { mode: 'enforce' } });
    await web.stop();
    expect(await slow).toMatchObject({ failure: { type: 'sts-policy-fetch-error' } });
    web = await PolicyWebServer.start(DOMAINS);
  });

  it('hold up no other tenant, however many of one have slow web servers', async () => {
    web.answers.set('slow.example', 'hang');
    announce('slow.example', '1');
    web.publish('a.example', ...ENFORCE);
    const { fetcher } = worker();
    const slow = Array.from({ length: 200 }, () => fetcher.fetch('slow.example', 'noisy'));
    expect(await slow.at(-1)).toMatchObject({ isBusy: true });
    expect(await fetcher.fetch('a.example', 'quiet')).toMatchObject({ kind: 'policy' });
    await web.stop();
    expect(await slow[0]).toMatchObject({ kind: 'failed', type: 'sts-policy-fetch-error' });
    await Promise.all(slow);
    web = await PolicyWebServer.start(DOMAINS);
  });

  it.each(['look-ups', 'fetches'])('are known to one tenant though another has too many %s', async (what) => {
    web.publish('a.example', ...ENFORCE);
    const { clock, fetcher } = worker();
    const resolver = new NodeDnsResolver({ servers: [dns.endpoint] });
    const [resolveTxt, fetch] = [resolver.resolveTxt.bind(resolver), fetcher.fetch.bind(fetcher)];
    if (what === 'look-ups') {
      resolver.resolveTxt = (name, options) =>
        options?.holder === 'noisy'
          ? Promise.resolve({ kind: 'temporary', reason: 'EBUSY' })
          : resolveTxt(name, options);
    } else {
      fetcher.fetch = (domain, holder) => (holder === 'noisy' ? Promise.resolve(BUSY) : fetch(domain, holder));
    }
    const policies = new MtaStsPolicies(new TlsRepository(db.database), fetcher, resolver, clock);
    expect((await policies.policyOf('a.example', 'noisy')).policy).toBeUndefined();
    expect(await policies.policyOf('a.example', 'quiet')).toMatchObject({ policy: { mode: 'enforce' } });
    expect(await policies.policyOf('a.example', 'noisy')).toMatchObject({ policy: { mode: 'enforce' } });
  });

  it('are fetched again before they expire, and forgotten when they have', async () => {
    web.publish('a.example', ...ENFORCE);
    await worker().policies.policyOf('a.example');
    const repository = new TlsRepository(db.database);
    expect(await repository.duePolicies(10)).toEqual([]);
    await db.query("update mta_sts_policies set refresh_at = now(), expires_at = now() + interval '1 minute'");
    expect(await repository.duePolicies(10)).toEqual(['a.example']);
    await worker().policies.refresh('a.example');
    expect(web.requests).toHaveLength(2);
    const [row] = await rows();
    expect(Math.abs(row?.expires_at - Date.now() - 86_400_000)).toBeLessThan(MINUTE);
    expect([await repository.duePolicies(10), await repository.removePolicies()]).toEqual([[], 0]);
    await db.query("update mta_sts_policies set expires_at = now() - interval '1 s'");
    expect(await repository.removePolicies()).toBe(1);
  });
});
