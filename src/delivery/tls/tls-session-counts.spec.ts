import type { AppConfig } from '../../config/config';
import type { AttemptTrace, TlsFault, TlsPolicy } from '../ports/attempt-trace';
import type { Settlement, SmtpFacts } from '../ports/outcome';
import { tlsaDemandOf } from '../smtp/conversation/tlsa';
import type { DanePolicies } from './dane.service';
import type { MtaStsPolicies, MtaStsState } from './mta-sts.service';
import { countedSessionOf, TlsSessionCounts } from './tls-session-counts';

const KIND = {
  ...({ domain: 'x.example', policyType: 'sts', result: 'success' } as const),
  ...{ mxHost: '', sendingIp: '', receivingIp: '' },
};

it('connections of one kind are counted together, also when the policy changes meanwhile', () => {
  const config = { delivery: { mode: 'direct', smtpPort: 25 }, tlsReports: undefined } as unknown as AppConfig;
  const counts = new TlsSessionCounts(config, {} as MtaStsPolicies, {} as DanePolicies);
  counts.add({ ...KIND, policy: 'mode: testing', sessions: 2 });
  counts.add({ ...KIND, policy: 'mode: enforce', sessions: 1 });
  counts.add({ ...KIND, result: 'certificate-expired', policy: 'mode: enforce', sessions: 1 });
  // A statement adds to each row once.
  expect(counts.take()).toEqual([
    { ...KIND, policy: 'mode: enforce', sessions: 3 },
    { ...KIND, result: 'certificate-expired', policy: 'mode: enforce', sessions: 1 },
  ]);
  expect(counts.take()).toEqual([]);
});

it('policies as long as receivers like leave room for no more than some of them, and count on', () => {
  const config = { delivery: { mode: 'direct', smtpPort: 25 }, tlsReports: undefined } as unknown as AppConfig;
  const counts = new TlsSessionCounts(config, {} as MtaStsPolicies, {} as DanePolicies);
  const long = { ...KIND, policy: 'x'.repeat(40_000), sessions: 1 };
  for (let round = 0; round < 2; round += 1) {
    for (let n = 0; n < 300; n += 1) counts.add({ ...long, domain: `x${n}.example` });
  }
  const taken = counts.take();
  expect(taken.length).toBeLessThan(250);
  expect(new Set(taken.map(({ sessions }) => sessions))).toEqual(new Set([2]));
  counts.add(long);
  expect(counts.take()).toEqual([long]);
});

const RECORDS = tlsaDemandOf('mx.x.example', [
  { usage: 3, selector: 1, matchingType: 1, data: Buffer.alloc(32, 0xab) },
]);
const NONE: MtaStsState = {};
const policy = (mode: 'testing' | 'none' | 'enforce'): MtaStsState => ({
  policy: { mode, mx: ['mx.x.example'], maxAgeSeconds: 600 },
});
const lines = (mode: string) => `by version: STSv1, mode: ${mode}, mx: mx.x.example, max_age: 600`;
const TLSA = `by 3 1 1 ${'AB'.repeat(32)}`;
const FAILED: MtaStsState = { failure: { type: 'sts-policy-fetch-error', reason: '' } };
const encrypted = (verified: boolean, fault?: TlsFault) => ({
  tls: { version: 'TLSv1.3', cipher: 'TLS_AES_128_GCM_SHA256', verified, fault },
});

function counted(
  known: MtaStsState,
  more: Partial<AttemptTrace> & { policy: TlsPolicy },
  facts: SmtpFacts = {},
): string | undefined {
  const smtp = { phase: 'final', mxHost: 'mx.x.example', ...facts } as const;
  const trace = { startedAt: new Date(0), durationMs: 1, phasesMs: { connect: 1 }, ...more };
  const claim = { destination: 'x.example' };
  const settlement = { claim, outcomes: [{ outcome: { kind: 'delivered', smtp }, trace }] } as unknown as Settlement;
  const session = countedSessionOf(settlement, { mtaSts: known, tlsaOf: () => RECORDS });
  if (session === undefined) return undefined;
  const { policyType, result, policy: text } = session;
  return `${policyType} ${result}${text && ` by ${text.split('\n').join(', ')}`}`;
}

describe('a connection in reports on TLS', () => {
  it.each<[string, MtaStsState, Partial<AttemptTrace> & { policy: TlsPolicy }, SmtpFacts, string | undefined]>([
    ['encrypted', NONE, { policy: 'opportunistic', ...encrypted(false) }, {}, 'no-policy-found success'],
    ['not encrypted', NONE, { policy: 'opportunistic' }, {}, 'no-policy-found starttls-not-supported'],
    ['broken', NONE, { policy: 'opportunistic' }, { tlsFailure: 'reset' }, 'no-policy-found validation-failure'],
    [
      'under a policy that says none',
      policy('none'),
      { policy: 'opportunistic' },
      {},
      'no-policy-found starttls-not-supported',
    ],
    [
      'as the policy demands',
      policy('enforce'),
      { policy: 'mta-sts', ...encrypted(true) },
      {},
      `sts success ${lines('enforce')}`,
    ],
    [
      'held back by the policy',
      policy('enforce'),
      { policy: 'mta-sts' },
      { phase: 'tls', policy: 'mta-sts', tlsFault: 'certificate-expired' },
      `sts certificate-expired ${lines('enforce')}`,
    ],
    [
      'without a host of the policy',
      policy('enforce'),
      { policy: 'mta-sts' },
      { phase: 'dns', policy: 'mta-sts' },
      `sts validation-failure ${lines('enforce')}`,
    ],
    [
      'as tested',
      policy('testing'),
      { policy: 'opportunistic', ...encrypted(true) },
      {},
      `sts success ${lines('testing')}`,
    ],
    [
      'not as tested',
      policy('testing'),
      { policy: 'opportunistic', ...encrypted(false, 'certificate-host-mismatch') },
      {},
      `sts certificate-host-mismatch ${lines('testing')}`,
    ],
    [
      'tested, in plaintext',
      policy('testing'),
      { policy: 'opportunistic' },
      {},
      `sts starttls-not-supported ${lines('testing')}`,
    ],
    [
      'tested, to another host',
      policy('testing'),
      { policy: 'opportunistic', ...encrypted(true) },
      { mxHost: 'other.example' },
      `sts validation-failure ${lines('testing')}`,
    ],
    ['without the policy', FAILED, { policy: 'opportunistic', ...encrypted(true) }, {}, 'sts sts-policy-fetch-error'],
    ['as TLSA records demand', NONE, { policy: 'dane', ...encrypted(true) }, {}, `tlsa success ${TLSA}`],
    [
      'held back by TLSA records',
      NONE,
      { policy: 'dane', ...encrypted(false) },
      { phase: 'tls', policy: 'dane', tlsFault: 'validation-failure' },
      `tlsa validation-failure ${TLSA}`,
    ],
    ['used again', NONE, { policy: 'opportunistic', phasesMs: {}, ...encrypted(true) }, {}, undefined],
    ['without a server', NONE, { policy: 'opportunistic' }, { phase: 'connect' }, undefined],
  ])('%s', (_what, known, trace, facts, expected) => {
    expect(counted(known, trace, facts)).toBe(expected);
  });
});
