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

/**
 * A trace without `action` as the text that is stored with an event of success, a third as long as its JSON object: an array in
 * the order below, without the nulls at its end. The time is that before the event, in milliseconds.
 */
export function packTrace({ at, ms, times, ip, port, tls, policy, src, pool }: StoredTrace, occurredAt: Date): string {
  const values = [occurredAt.getTime() - at, ms, times, ip, port, tls, policy, src, pool];
  return JSON.stringify(values.slice(0, values.findLastIndex((value) => value !== undefined) + 1));
}

type Packed = [number, number, ...(StoredTrace[keyof StoredTrace] | null)[]];

/** The trace of a stored event, in whichever of its columns it is; null when it has none. */
export function traceOf({ attempt, trace, occurredAt }: TracedEvent): StoredTrace | null {
  if (attempt === null) return trace;
  const [before, ms, ...others] = JSON.parse(attempt) as Packed;
  const [times, ip, port, tls, policy, src, pool] = others.map((value) => value ?? undefined);
  return { at: occurredAt.getTime() - before, ms, times, ip, port, tls, policy, src, pool } as StoredTrace;
}

/** The columns of an event that hold a trace. */
interface TracedEvent {
  readonly attempt: string | null;
  readonly trace: StoredTrace | null;
  readonly occurredAt: Date;
}

/** The phases of a stored attempt; undefined when not stored. */
export function phasesOf({ times, phases }: StoredTrace): PhaseTimes | undefined {
  if (times === undefined) return phases;
  const values = times.split(',');
  const known = ORDER_OF_TIMES.flatMap((phase, at) => (values[at] ? [[phase, Number(values[at])]] : []));
  return Object.fromEntries(known) as PhaseTimes;
}
