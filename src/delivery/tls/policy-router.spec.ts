import { FakeClock } from '../../../test/doubles/fake-clock';
import type { DnsResolver } from '../../common/dns/dns-resolver';
import { DirectRouter } from '../routing/direct-router';
import { tlsaDemandOf } from '../smtp/conversation/tlsa';
import type { HostDane } from './dane.service';
import type { MtaStsPolicy } from './mta-sts-policy';
import { PolicyRouter, tlsDemandOf, withPolicies } from './policy-router';

const RELAY = { host: 'relay.example', port: 587, implicitTls: false };
const AUTH = { user: 'u', password: 'p' };
const ELSEWHERE = '192.0.2.1';
const HERE = '127.0.0.1';

describe('tlsDemandOf', () => {
  it.each([
    ['the built-in mailbox', HERE, true, { mode: 'local', tlsMode: 'required' }, ['none', false, undefined]],
    ['an exchanger', ELSEWHERE, false, { mode: 'direct' }, ['opportunistic', false, 'opportunistic']],
    ['an exchanger', ELSEWHERE, false, { mode: 'direct', tlsMode: 'required' }, ['starttls', false, 'required']],
    ['an exchanger, for a domain', ELSEWHERE, true, { mode: 'direct' }, ['starttls', false, 'required']],
    ['an exchanger here', HERE, true, { mode: 'direct' }, ['starttls', false, 'required']],
    ['a relay', ELSEWHERE, false, { mode: 'relay', relay: RELAY }, ['opportunistic', false, 'opportunistic']],
    ['a relay, for a domain', ELSEWHERE, true, { mode: 'relay', relay: RELAY }, ['starttls', false, 'required']],
    ['a relay here', HERE, true, { mode: 'relay', relay: RELAY }, ['opportunistic', false, 'opportunistic']],
    [
      'a relay with a login',
      ELSEWHERE,
      false,
      { mode: 'relay', relay: { ...RELAY, auth: AUTH } },
      ['starttls', true, undefined],
    ],
    [
      'a relay that speaks TLS from the start',
      ELSEWHERE,
      true,
      { mode: 'relay', relay: { ...RELAY, implicitTls: true } },
      ['implicit', true, undefined],
    ],
  ] as const)('%s at %s, required by the domain: %s, %j', (_what, address, requiresTls, settings, expected) => {
    const whole = { relay: undefined, tlsMode: 'opportunistic' as const, ...settings };
    const { security, verifyCertificate, policy } = tlsDemandOf({ address, requiresTls }, whole);
    expect([security, verifyCertificate, policy]).toEqual(expected);
  });

  it.each([true, false])('a policy of the destination asks for more than its sender (%s)', (requiresTls) => {
    const settings = { mode: 'direct', relay: undefined, tlsMode: 'required' } as const;
    expect(tlsDemandOf({ address: ELSEWHERE, requiresTls, tls: { policy: 'mta-sts' } }, settings)).toEqual({
      ...{ security: 'starttls', verifyCertificate: true, policy: 'mta-sts' },
    });
  });
});

const UNUSABLE = tlsaDemandOf('mx1.x.example', []);
const USABLE = tlsaDemandOf('mx1.x.example', [{ usage: 3, selector: 1, matchingType: 1, data: Buffer.alloc(32) }]);
const route = {
  ...({ kind: 'hosts', port: 25, final: true, group: 'mx1.x.example' } as const),
  hosts: ['mx1.x.example', 'mx2.x.example'].map((hostName, preference) => ({
    hostName,
    addresses: ['192.0.2.1'],
    preference,
  })),
};
const sts = (mode: MtaStsPolicy['mode'], ...mx: string[]) => ({ policy: { mode, mx } });

/** Where mail may go and what that host must prove: `1` and `2` for the hosts, or why it waits. */
function decided(state: object, ...dane: HostDane[]): string {
  const known = new Map(dane.map((one, index) => [`mx${index + 1}.x.example`, one]));
  const decision = withPolicies(route, state, known);
  if (decision.kind === 'unroutable') return `waits for ${decision.policy}`;
  return decision.hosts.map(({ hostName, tls }) => `${hostName[2]} ${tls?.policy ?? 'any'}`).join(', ');
}

it('mail that is exempt goes where there were no policies, which are not even looked up', async () => {
  const askNobody = () => Promise.reject(new Error('asked'));
  const router = new PolicyRouter(
    { resolve: () => Promise.resolve(route) },
    { policyOf: askNobody },
    { of: askNobody },
  );
  expect(await router.resolve('x.example', { isExempt: true })).toBe(route);
  await expect(router.resolve('x.example')).rejects.toThrow('asked');
});

it('a policy is compared with all mail exchangers, not only with the first five that have addresses', async () => {
  const hosts = ['a', 'b', 'c', 'd', 'e', 'mx6', 'mx7'].map((name) => ({
    preference: 10,
    exchange: `${name}.x.example`,
  }));
  const addressOf: Record<string, string> = { 'mx7.x.example': '192.0.2.7' };
  const resolver = {
    resolveMx: () => Promise.resolve({ kind: 'found', records: hosts.map((one, n) => ({ ...one, preference: n })) }),
    resolveAddresses: (host: string) =>
      Promise.resolve({
        kind: 'found',
        records: [{ family: 4, address: addressOf[host] ?? '192.0.2.1' }],
        ttlSeconds: 60,
      }),
  };
  const direct = new DirectRouter(resolver as unknown as DnsResolver, new FakeClock(), {
    allowPrivateDestinations: true,
  });
  const routed = async (mode: MtaStsPolicy['mode'], mx: string[], dane: Record<string, HostDane> = {}) => {
    const policy = { mode, mx, maxAgeSeconds: 60 };
    const router = new PolicyRouter(
      direct,
      { policyOf: () => Promise.resolve({ policy }) },
      {
        of: (_domain, names) =>
          Promise.resolve(new Map(names.flatMap((name) => (dane[name] ? [[name, dane[name]]] : [])))),
      },
    );
    const found = await router.resolve('x.example');
    return found.kind === 'hosts' ? found.hosts.map(({ hostName, tls }) => `${hostName} ${tls?.policy}`) : found.ruleId;
  };
  expect(await routed('enforce', ['mx7.x.example'])).toEqual(['mx7.x.example mta-sts']);
  expect(await routed('enforce', ['b.x.example', 'mx6.x.example'])).toEqual([
    'b.x.example mta-sts',
    'mx6.x.example mta-sts',
  ]);
  // Another policy, with other hosts: nothing of what was found for the first.
  expect(await routed('enforce', ['mx6.x.example'])).toEqual(['mx6.x.example mta-sts']);
  expect(await routed('enforce', ['other.example'])).toBe('mta-sts-no-host');
  expect(await routed('enforce', ['mx7.x.example'], { 'c.x.example': USABLE })).toEqual([
    'c.x.example dane',
    'mx7.x.example mta-sts',
  ]);
  expect(await routed('testing', ['mx7.x.example'])).toHaveLength(5);
});

describe('what policies demand of which host', () => {
  it.each<[string, object, HostDane[], string]>([
    ['no policy', {}, [], '1 any, 2 any'],
    [
      'a policy that could not be fetched',
      { failure: { type: 'sts-policy-fetch-error', reason: '' } },
      [],
      '1 any, 2 any',
    ],
    ['none', sts('none'), [], '1 any, 2 any'],
    ['testing', sts('testing', 'mx9.x.example'), [], '1 any, 2 any'],
    ['enforce, of all hosts', sts('enforce', '*.x.example'), [], '1 mta-sts, 2 mta-sts'],
    ['enforce, of one host', sts('enforce', 'mx2.x.example'), [], '2 mta-sts'],
    ['enforce, of no host', sts('enforce', 'mx9.x.example'), [], 'waits for mta-sts'],
    ['TLSA records of one host', {}, [UNUSABLE, 'none'], '1 dane, 2 any'],
    ['TLSA records of both', {}, [UNUSABLE, UNUSABLE], '1 dane, 2 dane'],
    ['TLSA records that are not known', {}, ['unknown', 'none'], '2 any'],
    ['none that are known', {}, ['unknown', 'unknown'], 'waits for dane'],
    ['DANE before MTA-STS', sts('enforce', '*.x.example'), [USABLE, 'none'], '1 dane, 2 mta-sts'],
    [
      'DANE of a host that the policy leaves out',
      sts('enforce', 'mx2.x.example'),
      [USABLE, 'none'],
      '1 dane, 2 mta-sts',
    ],
    ['unusable records', sts('enforce', '*.x.example'), [UNUSABLE, 'none'], '1 mta-sts, 2 mta-sts'],
    [
      'unusable records of a host that the policy leaves out',
      sts('enforce', 'mx2.x.example'),
      [UNUSABLE, 'none'],
      '2 mta-sts',
    ],
    ['unusable records under a policy on trial', sts('testing', '*.x.example'), [UNUSABLE, 'none'], '1 dane, 2 any'],
    ['neither known nor in the policy', sts('enforce', 'mx9.x.example'), ['unknown', 'none'], 'waits for dane'],
  ])('%s', (_what, state, dane, expected) => {
    expect(decided(state, ...dane)).toBe(expected);
  });
});
