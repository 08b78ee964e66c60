import type { AttemptTrace, PhaseTimes, SmtpPhase, TlsPolicy } from '../../../delivery/ports/attempt-trace';

/** The order of `times` in stored events: a new phase is added at the end. */
const ORDER_OF_TIMES: readonly SmtpPhase[] = [
  'dns',
  'connect',
  'greeting',
  'tls',
  'auth',
  'mail',
  'rcpt',
  'data',
  'final',
];

/** A trace as stored with its event: short names, without fields of the event itself. */
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
  /** Only together with `tls`. */
  readonly policy?: TlsPolicy | undefined;
  /**
   * Milliseconds of the phases in their order, empty for those that were not reached: `0,1,3,,,0,0,1,2`. With names and as numbers
   * of JSON they would take 150 bytes more per event.
   */
  readonly times?: string | undefined;
  /** The same in events of earlier releases. */
  readonly phases?: PhaseTimes | undefined;
  readonly action?: string | undefined;
}

/** A trace in the form in which it is stored. */
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
    policy: tls && policy,
    times: phasesMs && timesOf(phasesMs),
    action,
  };
}

function timesOf(phases: PhaseTimes): string {
  return ORDER_OF_TIMES.map((phase) => phases[phase] ?? '').join(',');
}

/** The phases of a stored attempt; undefined when not stored. */
export function phasesOf({ times, phases }: StoredTrace): PhaseTimes | undefined {
  if (times === undefined) return phases;
  const values = times.split(',');
  const known = ORDER_OF_TIMES.flatMap((phase, at) => (values[at] ? [[phase, Number(values[at])]] : []));
  return Object.fromEntries(known) as PhaseTimes;
}
