import * as fc from 'fast-check';
import { type AttemptTrace, SMTP_PHASES } from '../../../delivery/ports/attempt-trace';
import { phasesOf, type StoredTrace, toStoredTrace } from './stored-trace';

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
});
