import type { AttemptTrace } from '../ports/attempt-trace';
import type { SmtpFacts } from '../ports/outcome';
import { tlsStateOf } from './tls-session-counts';

const trace = (more: Partial<AttemptTrace>): AttemptTrace => ({ startedAt: new Date(0), durationMs: 1, ...more });
const encryption = (verified: boolean) => ({ version: 'TLSv1.3', cipher: 'TLS_AES_128_GCM_SHA256', verified });
const deferred = (smtp?: SmtpFacts) => ({
  ...({ kind: 'deferred', nextAttemptAt: new Date(0), reason: 'policy' } as const),
  ...(smtp && { smtp }),
});

describe('tlsStateOf', () => {
  it.each([
    [
      'opportunistic, encrypted',
      { phase: 'final' },
      { policy: 'opportunistic', tls: encryption(false) },
      'opportunistic TLSv1.3 encrypted',
    ],
    ['mta-sts, verified', { phase: 'final' }, { policy: 'mta-sts', tls: encryption(true) }, 'mta-sts TLSv1.3 verified'],
    ['not offered', { phase: 'rcpt' }, { policy: 'opportunistic' }, 'opportunistic none plaintext'],
    ['broken', { phase: 'final', tlsFailure: 'reset' }, { policy: 'opportunistic' }, 'opportunistic none broken'],
    ['held back', { phase: 'tls', policy: 'dane' }, { policy: 'dane', tls: encryption(false) }, 'dane none held_back'],
    ['without hosts', { phase: 'dns', policy: 'mta-sts' }, {}, 'mta-sts none held_back'],
    ['no server there', { phase: 'connect' }, { policy: 'opportunistic' }, undefined],
    ['no conversation', { phase: 'dns' }, {}, undefined],
  ] as const)('%s', (_what, smtp, more, expected) => {
    const state = tlsStateOf({ outcome: deferred(smtp), trace: trace(more) });
    expect(state && `${state.policy} ${state.version} ${state.result}`).toBe(expected);
  });

  it('knows nothing of what had no conversation', () => {
    expect(tlsStateOf({ outcome: deferred(), trace: trace({}) })).toBeUndefined();
    expect(tlsStateOf({ outcome: { kind: 'failed', reason: 'blocked' } })).toBeUndefined();
  });
});
