import * as fc from 'fast-check';
import { FakeClock } from '../../../test/doubles/fake-clock';
import { anyCharacter } from '../../../test/factories/any-character';
import type { DnsResolver } from '../../common/dns/dns-resolver';
import type { TlsRepository } from './tls.repository';
import { allowsHost, type MtaStsFetcher, parsePolicy, readPolicyId } from './mta-sts-policy';
import { MtaStsPolicies } from './mta-sts.service';

const file = (...lines: string[]) => `${lines.join('\r\n')}\r\n`;
const WHOLE = ['version: STSv1', 'mode: enforce', 'mx: mx1.example.com', 'mx: *.example.net', 'max_age: 86400'];

it('large policies are remembered of fewer domains', async () => {
  const mx = Array.from({ length: 100 }, (_one, n) => `${n}`.padStart(3, 'x').padEnd(60, 'y').concat('.x.example'));
  const known = { policyId: 'id', mode: 'enforce', mx, maxAgeSeconds: 86_400, leftSeconds: 86_400, failure: null };
  const readPolicies = (domains: readonly string[]) => Promise.resolve(domains.map((domain) => ({ ...known, domain })));
  const resolveTxt = () => Promise.resolve({ kind: 'no-data' });
  const policies = new MtaStsPolicies(
    { readPolicies } as unknown as TlsRepository,
    {} as MtaStsFetcher,
    { resolveTxt } as unknown as DnsResolver,
    new FakeClock(),
  );
  const domains = Array.from({ length: 4_000 }, (_one, n) => `x${n}.example`);
  for (const domain of domains) await policies.policyOf(domain);
  const kept = domains.filter((domain) => policies.known(domain).policy !== undefined);
  expect(kept).toEqual(domains.slice(-kept.length));
  expect(kept.length).toBeGreaterThan(1_000);
  expect(kept.length).toBeLessThan(3_000);
});

describe('the record of a policy', () => {
  it.each([
    ['v=STSv1; id=20160831085700Z;', '20160831085700Z'],
    ['v=STSv1;id=a', 'a'],
    ['v=STSv1 ; id=a ; ext=b;', 'a'],
    ['v=STSv1; ext=1; id=a', 'a'],
    ['v=STSv1; id=', undefined],
    ['v=STSv1; id=a; id=b', undefined],
    [`v=STSv1; id=${'a'.repeat(33)}`, undefined],
    ['v=STSv1; id=a-b', undefined],
    ['v=STSv1; id=a;; ext=1', undefined],
    ['v=STSv1; no field', undefined],
    ['v=STSv1', undefined],
    ['v=STSv2; id=a', undefined],
    ['id=a; v=STSv1', undefined],
  ])('%s', (text, id) => {
    expect(readPolicyId(['v=spf1 -all', text])).toBe(id);
  });

  it('counts only when it is the only one', () => {
    expect(readPolicyId([])).toBeUndefined();
    expect(readPolicyId(['v=STSv1; id=a', 'v=STSv1; id=a'])).toBeUndefined();
  });

  it('is read in time that grows with its length', () => {
    // With a quadratic expression this would take an hour.
    expect(readPolicyId([`v=STSv1; id=a${' '.repeat(2_000_000)}b;`])).toBeUndefined();
  });

  it('is read or not, whatever it says', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.string().map((rest) => `v=STSv1;${rest}`),
        ),
        (text) => {
          const id = readPolicyId([text]);
          expect(id === undefined || /^[a-zA-Z0-9]{1,32}$/.test(id)).toBe(true);
        },
      ),
    );
  });
});

describe('the file of a policy', () => {
  it('is read', () => {
    const policy = { mode: 'enforce', mx: ['mx1.example.com', '*.example.net'], maxAgeSeconds: 86_400 };
    expect(parsePolicy(file(...WHOLE))).toEqual(policy);
    expect(parsePolicy(WHOLE.join('\n'))).toEqual(policy);
    expect(parsePolicy(file(...[...WHOLE].reverse(), 'unknown: what it says'))).toEqual({
      ...policy,
      mx: [...policy.mx].reverse(),
    });
    expect(parsePolicy(file('mode: enforce', 'mode: none', ...WHOLE))).toEqual(policy);
  });

  it.each([
    ['nothing', ''],
    ['a page', '<html>\n<title>404</title>\n</html>'],
    ['no version', file(...WHOLE.slice(1))],
    ['another version', file('version: STSv2', ...WHOLE.slice(1))],
    ['no mode', file('version: STSv1', 'mx: a.example', 'max_age: 1')],
    ['an unknown mode', file('version: STSv1', 'mode: report', 'mx: a.example', 'max_age: 1')],
    ['no life', file(...WHOLE.slice(0, 4))],
    ['a life in words', file(...WHOLE.slice(0, 4), 'max_age: 1d')],
    ['a negative life', file(...WHOLE.slice(0, 4), 'max_age: -1')],
    ['no hosts', file('version: STSv1', 'mode: testing', 'max_age: 1')],
    ['a host that is none', file(...WHOLE, 'mx: *.*.example')],
    ['a pattern of all', file(...WHOLE, 'mx: *')],
    ['a pattern in the middle', file(...WHOLE, 'mx: mx.*.example')],
    ['a line that is no field', file(...WHOLE, 'and more')],
    ['more hosts than anyone has', file(...WHOLE, ...Array.from({ length: 100 }, (_, n) => `mx: mx${n}.example`))],
  ])('is no policy: %s', (_what, text) => {
    expect(parsePolicy(text)).toBeUndefined();
  });

  it('has a hundred hosts at most, and is read in time that grows with its length', () => {
    const hosts = (count: number) =>
      file(...WHOLE, ...Array.from({ length: count }, (_, at) => `mx: mx${at}.example.org`));
    expect(parsePolicy(hosts(98))?.mx).toHaveLength(100);
    expect(parsePolicy(hosts(99))).toBeUndefined();
    // 64 KiB of one field took more than a second.
    expect(parsePolicy('a:b\n'.repeat(16_384))).toBeUndefined();
  });

  it('needs no hosts where it ends a policy, and lives a year at most', () => {
    const none = parsePolicy(file('version: STSv1', 'mode: none', 'max_age: 9999999999'));
    expect(none).toEqual({ mode: 'none', mx: [], maxAgeSeconds: 31_557_600 });
  });

  it('is a policy or none, in time that grows with its length, whatever it says', () => {
    const line = fc.oneof(
      fc.constantFrom(...WHOLE, 'mx:', 'mx: .', 'max_age: 1', ':', ' '),
      fc.string({ unit: anyCharacter, maxLength: 80 }),
    );
    fc.assert(
      fc.property(fc.array(line, { maxLength: 30 }), fc.constantFrom('\n', '\r\n', '\r'), (lines, end) => {
        const policy = parsePolicy(lines.join(end));
        if (policy === undefined) return;
        expect(policy.maxAgeSeconds).toBeLessThanOrEqual(31_557_600);
        expect(policy.mode === 'none' || policy.mx.length > 0).toBe(true);
      }),
    );
  });
});

describe('allowsHost', () => {
  it.each([
    ['mx1.example.com', true],
    ['MX1.Example.COM.', true],
    ['mx2.example.com', false],
    ['a.example.net', true],
    ['a.b.example.net', false],
    ['example.net', false],
    ['aexample.net', false],
    ['net', false],
  ])('%s: %s', (host, isAllowed) => {
    expect(allowsHost({ mx: ['mx1.example.com', '*.example.net'] }, host)).toBe(isAllowed);
  });
});
