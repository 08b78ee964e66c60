import { readPhase } from '../../../delivery/ports/attempt-trace';
import type { EmailEvent } from '../email.entity';
import type { AttemptDto } from './attempt.dto';
import { phasesOf, type StoredTrace } from '../outcomes/stored-trace';

/** Events that an attempt ends with. */
const ENDINGS: ReadonlySet<string> = new Set(['sent', 'delivered', 'deferred', 'unknown', 'bounced', 'failed']);

/** Whose events are of attempts; what a report tells later is not one. */
const ATTEMPTING: ReadonlySet<string> = new Set(['smtp', 'simulator', 'worker']);

/**
 * The attempts that an email's events tell of, newest first. Those from before traces were kept have no times of their
 * own: they began when their event happened.
 *
 * @param events in the order in which they were recorded
 */
export function attemptsOf(events: readonly EmailEvent[]): AttemptDto[] {
  const byAttempt = new Map<string, EmailEvent>();
  for (const event of events) {
    const { recipient, attempt } = event.data;
    if (!isEnding(event) || typeof recipient !== 'string' || typeof attempt !== 'number') continue;
    // A delivery was a hand-over first: its later event has it all.
    byAttempt.set(`${recipient} ${attempt}`, event);
  }
  return [...byAttempt.values()].map(toAttempt).sort(newestFirst);
}

/** A delivery that ended without an attempt of its own shows the number of those before it, and no trace. */
function isEnding({ eventType, source, trace }: EmailEvent): boolean {
  if (!ENDINGS.has(eventType) || !ATTEMPTING.has(source)) return false;
  return trace !== null || (source !== 'worker' && eventType !== 'failed');
}

function newestFirst(one: AttemptDto, other: AttemptDto): number {
  if (one.startedAt !== other.startedAt) return one.startedAt < other.startedAt ? 1 : -1;
  return other.attempt - one.attempt;
}

function toAttempt({ eventType, occurredAt, data, trace }: EmailEvent): AttemptDto {
  const stored = trace ?? { at: occurredAt.getTime(), ms: 0 };
  return {
    recipient: String(data.recipient),
    attempt: Number(data.attempt),
    startedAt: new Date(stored.at).toISOString(),
    durationMs: stored.ms,
    outcome: eventType,
    ...routeOf(stored, data),
    ...tlsOf(stored),
    ...timesOf(stored),
    ...replyOf(data),
    ...ruleOf(stored, data),
    ...textOf('tlsFailure', data),
    ...textOf('policy', data),
    ...textOf('nextAttemptAt', data),
    ...textOf('reason', data),
  };
}

function routeOf(
  { ip, port, src, pool }: StoredTrace,
  { mxHost }: EmailEvent['data'],
): Partial<Pick<AttemptDto, 'route'>> {
  if (ip === undefined || port === undefined || typeof mxHost !== 'string') return {};
  const source = { ...(src !== undefined && { source: src }), ...(pool !== undefined && { pool }) };
  return { route: { mxHost, address: ip, port, ...source } };
}

function tlsOf({ tls, policy }: StoredTrace): Partial<Pick<AttemptDto, 'tls'>> {
  if (policy === undefined || tls === undefined) return {};
  const [version, cipher, verified] = tls;
  return { tls: { version, cipher, verified: verified === 1, policy } };
}

/** Logging in at a relay is part of its greeting. */
function timesOf(stored: StoredTrace): Pick<AttemptDto, 'phasesMs'> {
  const phases = phasesOf(stored);
  if (phases === undefined) return {};
  const { auth, greeting, ...others } = phases;
  const welcome = (greeting ?? 0) + (auth ?? 0);
  return { phasesMs: { ...others, ...((greeting !== undefined || auth !== undefined) && { greeting: welcome }) } };
}

function replyOf({ code, enhancedCode, lines, response }: EmailEvent['data']): Partial<Pick<AttemptDto, 'reply'>> {
  if (typeof code !== 'number') return {};
  const said = Array.isArray(lines) ? lines.map(String) : typeof response === 'string' ? [response] : [];
  return { reply: { code, ...(typeof enhancedCode === 'string' && { enhancedCode }), lines: said } };
}

function ruleOf(
  { action }: StoredTrace,
  { ruleId, class: kind, phase }: EmailEvent['data'],
): Partial<Pick<AttemptDto, 'rule'>> {
  if (typeof ruleId !== 'string' || typeof kind !== 'string' || action === undefined) return {};
  return readPhase(phase) === undefined ? {} : { rule: { id: ruleId, class: kind, action } };
}

function textOf<Name extends 'tlsFailure' | 'policy' | 'nextAttemptAt' | 'reason'>(
  name: Name,
  data: EmailEvent['data'],
) {
  const value = data[name];
  return typeof value === 'string' ? { [name]: value } : {};
}
