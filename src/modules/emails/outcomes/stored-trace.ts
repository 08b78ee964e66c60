import type { AttemptTrace, PhaseTimes, TlsPolicy } from '../../../delivery/ports/attempt-trace';

/** A trace as it is kept, beside its event: short names, and nothing that the event says itself. */
export interface StoredTrace {
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly ms: number;
  readonly ip?: string | undefined;
  readonly port?: number | undefined;
  readonly src?: string | undefined;
  readonly pool?: string | undefined;
  /** Version, cipher, and 1 when the certificate was verified. */
  readonly tls?: readonly [string, string, 0 | 1] | undefined;
  readonly policy?: TlsPolicy | undefined;
  readonly phases?: PhaseTimes | undefined;
  readonly action?: string | undefined;
}

export function toStoredTrace({
  startedAt,
  durationMs,
  route,
  tls,
  policy,
  phasesMs,
  action,
}: AttemptTrace): StoredTrace {
  return {
    at: startedAt.getTime(),
    ms: durationMs,
    ip: route?.address,
    port: route?.port,
    src: route?.source,
    pool: route?.pool,
    tls: tls && [tls.version, tls.cipher, tls.verified ? 1 : 0],
    policy,
    phases: phasesMs,
    action,
  };
}
