import { tlsaDemandOf } from '../smtp/tlsa';
import type { HostDane } from './dane.service';
import type { MtaStsPolicy } from './mta-sts-policy';
import { PolicyRouter, withPolicies } from './policy-router';

const UNUSABLE = tlsaDemandOf('mx1.x.example', []);
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
  expect(await router.resolve('x.example', true)).toBe(route);
  await expect(router.resolve('x.example')).rejects.toThrow('asked');
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
    ['DANE before MTA-STS', sts('enforce', '*.x.example'), [UNUSABLE, 'none'], '1 dane, 2 mta-sts'],
    [
      'DANE of a host that the policy leaves out',
      sts('enforce', 'mx2.x.example'),
      [UNUSABLE, 'none'],
      '1 dane, 2 mta-sts',
    ],
    ['neither known nor in the policy', sts('enforce', 'mx9.x.example'), ['unknown', 'none'], 'waits for dane'],
  ])('%s', (_what, state, dane, expected) => {
    expect(decided(state, ...dane)).toBe(expected);
  });
});
