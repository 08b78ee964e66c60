import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { REPLY_ACTIONS, REPLY_CLASSES } from '../../../delivery/policy/replies/classify-reply';
import { type PhaseTimes, toPhase, SMTP_PHASES, TLS_POLICIES } from '../../../delivery/ports/attempt-trace';
import type { EmailEvent } from '../email.entity';
import { phasesOf, type StoredTrace, traceOf } from '../outcomes/stored-trace';

const OUTCOMES = ['sent', 'delivered', 'deferred', 'unknown', 'bounced', 'failed'];

class AttemptRouteDto {
  @ApiProperty({ description: 'The host that was connected to, the last of several' }) mxHost!: string;
  @ApiProperty() address!: string;
  @ApiProperty({ type: 'integer' }) port!: number;
  @ApiPropertyOptional({ description: 'The address that the mail left from' }) source?: string;
  @ApiPropertyOptional({ description: 'The pool of that address' }) pool?: string;
}

class AttemptTlsDto {
  @ApiProperty({ example: 'TLSv1.3' }) version!: string;
  @ApiProperty() cipher!: string;
  @ApiProperty({ description: 'Whether the certificate proves the host' }) verified!: boolean;
  @ApiProperty({ enum: TLS_POLICIES }) policy!: string;
}

class AttemptPhasesDto implements PhaseTimes {
  @ApiPropertyOptional({ type: 'integer' }) dns?: number;
  @ApiPropertyOptional({ type: 'integer' }) connect?: number;
  @ApiPropertyOptional({ type: 'integer' }) greeting?: number;
  @ApiPropertyOptional({ type: 'integer' }) tls?: number;
  @ApiPropertyOptional({ type: 'integer' }) mail?: number;
  @ApiPropertyOptional({ type: 'integer' }) rcpt?: number;
  @ApiPropertyOptional({ type: 'integer' }) data?: number;
  @ApiPropertyOptional({ type: 'integer' }) final?: number;
}

class AttemptReplyDto {
  @ApiProperty({ type: 'integer' }) code!: number;
  @ApiPropertyOptional() enhancedCode?: string;
  @ApiProperty({ type: [String], maxItems: 20 }) lines!: string[];
}

class AttemptRuleDto {
  @ApiProperty() id!: string;
  @ApiProperty({ enum: REPLY_CLASSES }) class!: string;
  @ApiProperty({ enum: REPLY_ACTIONS }) action!: string;
}

/** One attempt at a recipient's delivery: route, encryption, times and the reply. */
export class AttemptDto {
  @ApiProperty() recipient!: string;
  @ApiProperty({ type: 'integer', description: 'From 1' }) attempt!: number;
  @ApiProperty({ format: 'date-time' }) startedAt!: string;
  @ApiProperty({ type: 'integer' }) durationMs!: number;
  @ApiProperty({ enum: OUTCOMES }) outcome!: string;
  @ApiPropertyOptional({ type: AttemptRouteDto }) route?: AttemptRouteDto;
  @ApiPropertyOptional({ type: AttemptTlsDto }) tls?: AttemptTlsDto;
  @ApiPropertyOptional({ type: AttemptPhasesDto }) phasesMs?: AttemptPhasesDto;
  @ApiPropertyOptional({ enum: SMTP_PHASES, description: 'Where it ended' }) phase?: string;
  @ApiPropertyOptional({ type: AttemptReplyDto }) reply?: AttemptReplyDto;
  @ApiPropertyOptional({ description: 'Where there was no reply: what happened instead' }) failure?: string;
  @ApiPropertyOptional({ type: AttemptRuleDto }) rule?: AttemptRuleDto;
  @ApiPropertyOptional({
    description:
      'How STARTTLS, which was offered, failed twice, so that the mail was sent unencrypted (policy `opportunistic`)',
  })
  tlsFailure?: string;
  @ApiPropertyOptional({ enum: TLS_POLICIES, description: 'The encryption policy that prevented the delivery' })
  policy?: string;
  @ApiPropertyOptional({ format: 'date-time' }) nextAttemptAt?: string;
  @ApiPropertyOptional({ description: 'Cause of a deferral, bounce or failure' }) reason?: string;
  @ApiPropertyOptional({ description: 'In plain words, where the reply alone does not say it' }) explanation?: string;
}

/** Events that an attempt ends with. */
const ENDINGS: ReadonlySet<string> = new Set(['sent', 'delivered', 'deferred', 'unknown', 'bounced', 'failed']);

/** Sources whose events are attempts, unlike later reports. */
const ATTEMPTING: ReadonlySet<string> = new Set(['smtp', 'simulator', 'worker']);

/**
 * The attempts in an email's events, newest first. Attempts from before traces were stored have no times of their own: their
 * start is the time of the event.
 * @param events in the order in which they were recorded
 */
export function attemptsOf(events: readonly EmailEvent[]): AttemptDto[] {
  const byAttempt = new Map<string, EmailEvent>();
  for (const event of events) {
    const { recipient, attempt } = event.data;
    if (!isEnding(event) || typeof recipient !== 'string' || typeof attempt !== 'number') continue;
    // A delivery has an event `sent` before `delivered`; the later one has all data.
    byAttempt.set(`${recipient} ${attempt}`, event);
  }
  return [...byAttempt.values()].map(toAttempt).sort(newestFirst);
}

/** Whether an event ends an attempt. A delivery that ended without an attempt of its own has the number of the previous one, and no trace. */
function isEnding({ eventType, source, trace }: EmailEvent): boolean {
  if (!ENDINGS.has(eventType) || !ATTEMPTING.has(source)) return false;
  return trace !== null || (source !== 'worker' && eventType !== 'failed');
}

function newestFirst(one: AttemptDto, other: AttemptDto): number {
  if (one.startedAt !== other.startedAt) return one.startedAt < other.startedAt ? 1 : -1;
  return other.attempt - one.attempt;
}

function toAttempt(event: EmailEvent): AttemptDto {
  const { eventType, occurredAt, data } = event;
  const stored = traceOf(event) ?? { at: occurredAt.getTime(), ms: 0 };
  return {
    recipient: String(data.recipient),
    attempt: Number(data.attempt),
    startedAt: new Date(stored.at).toISOString(),
    durationMs: stored.ms,
    outcome: eventType,
    ...routeOf(stored, data),
    ...tlsOf(stored),
    ...timesOf(stored),
    phase: toPhase(data.phase),
    ...replyOf(data),
    ...failureOf(data),
    ...ruleOf(stored, data),
    ...textOf('tlsFailure', data),
    ...textOf('policy', data),
    ...textOf('nextAttemptAt', data),
    ...textOf('reason', data),
    ...textOf('explanation', data),
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

/** The durations of the phases; AUTH at a relay counts as part of its greeting. */
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

/** Without a code, `response` is what this service says of the connection. */
function failureOf({ code, response }: EmailEvent['data']): Partial<Pick<AttemptDto, 'failure'>> {
  return code === undefined && typeof response === 'string' ? { failure: response } : {};
}

function ruleOf(
  { action }: StoredTrace,
  { ruleId, class: kind, phase }: EmailEvent['data'],
): Partial<Pick<AttemptDto, 'rule'>> {
  if (typeof ruleId !== 'string' || typeof kind !== 'string' || action === undefined) return {};
  return toPhase(phase) === undefined ? {} : { rule: { id: ruleId, class: kind, action } };
}

function textOf<Name extends 'tlsFailure' | 'policy' | 'nextAttemptAt' | 'reason' | 'explanation'>(
  name: Name,
  data: EmailEvent['data'],
) {
  const value = data[name];
  return typeof value === 'string' ? { [name]: value } : {};
}
