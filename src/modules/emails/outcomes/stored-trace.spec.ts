import * as fc from 'fast-check';
import { type AttemptTrace, SMTP_PHASES } from '../../../delivery/ports/attempt-trace';
import { packTrace, phasesOf, type StoredTrace, toStoredTrace, traceOf } from './stored-trace';

const AT = new Date('2026-11-23T10:00:00.000Z');

/** As the row keeps it. */
function kept(trace: Partial<AttemptTrace>): StoredTrace {
  return JSON.parse(JSON.stringify(toStoredTrace({ startedAt: AT, durationMs: 7, ...trace })));
}

describe('a kept trace', () => {
  it('returns the times of the phases that were gone through, and of no others', () => {
    const times = fc.record(
      Object.fromEntries(SMTP_PHASES.map((phase) => [phase, fc.integer({ min: 0, max: 3_600_000 })])),
      { requiredKeys: [] },
    );
    fc.assert(fc.property(times, (phasesMs) => expect(phasesOf(kept({ phasesMs }))).toEqual({ ...phasesMs })));
  });

  it('returns those of events from before, and none where none are known', () => {
    expect(phasesOf({ at: 1, ms: 2, phases: { dns: 0, final: 3 } })).toEqual({ dns: 0, final: 3 });
    expect(phasesOf(kept({}))).toBeUndefined();
  });

  it('keeps the policy beside the encryption only', () => {
    const tls = { version: 'TLSv1.3', cipher: 'TLS_AES_256_GCM_SHA384', verified: true };
    expect(kept({ policy: 'opportunistic' })).toEqual({ at: AT.getTime(), ms: 7 });
    expect(kept({ policy: 'dane', tls })).toMatchObject({ policy: 'dane', tls: ['TLSv1.3', tls.cipher, 1] });
  });

  it('is the same from the text of a success, whatever it lacks', () => {
    const text = fc.string({ minLength: 1 });
    const route = fc.record(
      { address: text, port: fc.nat(65_535), source: text, pool: text },
      { requiredKeys: ['address', 'port'] },
    );
    const tls = fc.record({ version: text, cipher: text, verified: fc.boolean() });
    const traces = fc.record(
      { route, tls, policy: fc.constantFrom('none', 'dane'), phasesMs: fc.constant({ dns: 0, final: 3 }) },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(traces, fc.integer({ min: -5, max: 900_000 }), (trace, ms) => {
        const stored = toStoredTrace({ startedAt: AT, durationMs: 7, ...trace });
        const occurredAt = new Date(AT.getTime() + ms);
        const attempt = packTrace(stored, occurredAt);
        expect(traceOf({ attempt, trace: null, occurredAt })).toEqual(stored);
      }),
    );
    expect(packTrace({ at: AT.getTime(), ms: 7 }, AT)).toBe('[0,7]');
  });

  it('is that of the other column without a text', () => {
    const trace = { at: 1, ms: 2, action: 'defer' };
    expect(traceOf({ attempt: null, trace, occurredAt: AT })).toBe(trace);
    expect(traceOf({ attempt: null, trace: null, occurredAt: AT })).toBeNull();
  });
});
