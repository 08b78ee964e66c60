import type { AttemptTrace, TlsFault, TlsPolicy } from '../ports/attempt-trace';
import type { Settlement, SmtpFacts } from '../ports/outcome';
import { countedSessionOf } from './counted-session';
import type { MtaStsState } from './mta-sts.service';

const NONE: MtaStsState = {};
const policy = (mode: 'testing' | 'none' | 'enforce'): MtaStsState => ({ policy: { mode, mx: ['mx.x.example'] } });
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
  const session = countedSessionOf(settlement, known);
  return session && `${session.policyType} ${session.result}`;
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
    ['as the policy demands', policy('enforce'), { policy: 'mta-sts', ...encrypted(true) }, {}, 'sts success'],
    [
      'held back by the policy',
      policy('enforce'),
      { policy: 'mta-sts' },
      { phase: 'tls', policy: 'mta-sts', tlsFault: 'certificate-expired' },
      'sts certificate-expired',
    ],
    [
      'without a host of the policy',
      policy('enforce'),
      { policy: 'mta-sts' },
      { phase: 'dns', policy: 'mta-sts' },
      'sts validation-failure',
    ],
    ['as tested', policy('testing'), { policy: 'opportunistic', ...encrypted(true) }, {}, 'sts success'],
    [
      'not as tested',
      policy('testing'),
      { policy: 'opportunistic', ...encrypted(false, 'certificate-host-mismatch') },
      {},
      'sts certificate-host-mismatch',
    ],
    ['tested, in plaintext', policy('testing'), { policy: 'opportunistic' }, {}, 'sts starttls-not-supported'],
    [
      'tested, to another host',
      policy('testing'),
      { policy: 'opportunistic', ...encrypted(true) },
      { mxHost: 'other.example' },
      'sts validation-failure',
    ],
    ['without the policy', FAILED, { policy: 'opportunistic', ...encrypted(true) }, {}, 'sts sts-policy-fetch-error'],
    ['as TLSA records demand', NONE, { policy: 'dane', ...encrypted(true) }, {}, 'tlsa success'],
    [
      'held back by TLSA records',
      NONE,
      { policy: 'dane', ...encrypted(false) },
      { phase: 'tls', policy: 'dane', tlsFault: 'validation-failure' },
      'tlsa validation-failure',
    ],
    ['used again', NONE, { policy: 'opportunistic', phasesMs: {}, ...encrypted(true) }, {}, undefined],
    ['with nobody', NONE, { policy: 'opportunistic' }, { phase: 'connect' }, undefined],
  ])('%s', (_what, known, trace, facts, expected) => {
    expect(counted(known, trace, facts)).toBe(expected);
  });
});
