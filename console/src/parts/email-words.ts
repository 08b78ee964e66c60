import type { Attempt, EmailDetail, EmailEvent, EmailRecipient } from '../api/types';
import { words } from './format';
import { type Tone, toneOf } from './tones';

const FINAL: ReadonlySet<string> = new Set(['delivered', 'bounced', 'failed']);

export const isFinal = (status: string): boolean => FINAL.has(status);

/** Why an open recipient waits, as far as the service states it (contract, section 17). */
export interface Waiting {
  readonly reason: string;
  readonly until?: string;
  readonly detail?: string;
}

const REASONS: Readonly<Record<string, string>> = {
  scheduled: 'It is scheduled',
  retry: 'The last attempt was deferred',
  turn: 'It waits for its turn',
  destination_slowed: 'Its destination asked for mail at a slower rate',
  destination_paused: 'Sending to its destination is paused',
  domain_paused: 'Sending from its domain is paused',
  warming_up: 'The source addresses are new to the receiver and have used their volume for today',
  held: 'An operator holds it',
  sending: 'A worker is sending it right now',
};

/** What the reader can do; mostly that no action is needed. */
const ADVICE: Readonly<Record<string, string>> = {
  scheduled: 'Until then it can be cancelled.',
  retry: 'No action is needed: it is retried automatically.',
  turn: 'No action is needed: it is sent as soon as a worker is free.',
  destination_slowed: 'No action is needed: it is sent as fast as the receiver accepts it.',
  destination_paused:
    'It continues automatically. If it takes long, ask the operator: their page “Destinations” says what helps.',
  domain_paused: 'The page of the domain says why it is paused, and how to resume it.',
  warming_up: 'No action is needed: it continues as the daily volume grows.',
  held: 'Ask the operator: only they can release it.',
};

/** Why a recipient's copy is not there yet. */
export interface Why {
  /** A sentence. */
  readonly because: string;
  /** When something happens next. */
  readonly until?: string;
  readonly advice?: string;
}

const sentence = (text: string): string => (/[.!?…]$/.test(text) ? text : `${text}.`);

/** Undefined once it has come to its end. */
export function whyItWaits(
  email: Pick<EmailDetail, 'scheduledFor' | 'events'>,
  recipient: EmailRecipient & { waiting?: Waiting },
): Why | undefined {
  if (isFinal(recipient.status)) return undefined;
  const { waiting } = recipient;
  if (!waiting) return derived(email, recipient);
  const { reason, detail, until } = waiting;
  return {
    because: sentence(detail ?? REASONS[reason] ?? words(reason)),
    ...(until !== undefined && { until }),
    ...(ADVICE[reason] !== undefined && { advice: ADVICE[reason] }),
  };
}

const ENDINGS: ReadonlySet<string> = new Set([
  ...['bounced', 'hard_bounce', 'soft_bounce', 'failed', 'blocked', 'cancelled'],
]);

/** Why a recipient's copy has ended without arriving, in the words of the service; undefined where it has arrived or may still. */
export function whyItEnded(
  { events }: Pick<EmailDetail, 'events'>,
  { email, status }: Pick<EmailRecipient, 'email' | 'status'>,
): string | undefined {
  if (!isFinal(status) || status === 'delivered') return undefined;
  const isOfIt = ({ eventData: { recipient } }: EmailEvent) => recipient === undefined || recipient === email;
  const last = events.findLast((event) => ENDINGS.has(event.eventType) && isOfIt(event));
  if (!last) return undefined;
  const { explanation } = last.eventData;
  return sentence(typeof explanation === 'string' ? explanation : sentenceOf(last));
}

function derived(
  { scheduledFor, events }: Pick<EmailDetail, 'scheduledFor' | 'events'>,
  { email, status, nextAttemptAt, attempts }: EmailRecipient,
): Why {
  const last = events.findLast(({ eventType, eventData }) => eventType === 'deferred' && eventData.recipient === email);
  if (last && nextAttemptAt) {
    return { because: sentence(`Attempt ${attempts} was deferred${reply(last)}`), until: nextAttemptAt };
  }
  if (status === 'scheduled' && scheduledFor) return { because: 'It is scheduled.', until: scheduledFor };
  if (status === 'sending') return { because: 'A worker is sending it right now.' };
  if (status === 'sent') return { because: 'The next server has accepted it, and has not reported its delivery yet.' };
  return { because: 'It is ready and waits for its turn.' };
}

function reply({ eventData }: EmailEvent): string {
  return typeof eventData.response === 'string' ? `: the server said “${eventData.response}”` : '';
}

/** A server's whole reply, line by line; its codes separately where the lines do not begin with them. */
export function replyText({ code, enhancedCode, lines }: NonNullable<Attempt['reply']>): string {
  if (lines[0]?.startsWith(String(code))) return lines.join('\n');
  return [enhancedCode === undefined ? String(code) : `${code} ${enhancedCode}`, ...lines].join('\n');
}

/** Where an attempt ended, as part of a sentence; with the name by which a server's log has it. */
const PHASES: Readonly<Record<string, string>> = {
  dns: 'while its server was looked up in DNS',
  connect: 'while connecting to the server',
  greeting: "at the server's greeting (EHLO)",
  tls: 'while encryption was set up (STARTTLS)',
  auth: 'at the login (AUTH)',
  mail: 'when the sender was named (MAIL)',
  rcpt: 'when the recipient was named (RCPT)',
  data: 'before the message was sent (DATA)',
  final: 'after the whole message was sent',
};

/** Undefined of what went well, and where the service does not say it. */
export function endedWhere({ outcome, phase }: Pick<Attempt, 'outcome' | 'phase'>): string | undefined {
  if (phase === undefined || outcome === 'sent' || outcome === 'delivered') return undefined;
  return `It ended ${PHASES[phase] ?? `in the phase ${phase}`}.`;
}

/** What is known of the end of an attempt, or of a delivery without one. */
export interface SaidOfEvent {
  /** In the words of the service. */
  readonly explanation?: string;
  /** The server's, as it came. */
  readonly reply?: string;
  /** What happened instead of a reply. */
  readonly failure?: string;
}

/** Each text once: an explanation may quote the reply, or be all that there is to say of a failure. */
export function saidOf({ eventData }: Pick<EmailEvent, 'eventData'>, attempt?: Attempt): SaidOfEvent {
  const explanation = textOf(attempt?.explanation ?? eventData.explanation);
  const reply = attempt ? attempt.reply && replyText(attempt.reply) : textOf(eventData.response);
  const isNew = (text: string | undefined): text is string => text !== undefined && !explanation?.includes(text);
  return {
    ...(explanation !== undefined && { explanation: sentence(explanation) }),
    ...(isNew(reply) && { reply }),
    ...(isNew(attempt?.failure) && { failure: attempt.failure }),
  };
}

const textOf = (value: unknown): string | undefined => (typeof value === 'string' && value !== '' ? value : undefined);

const SENTENCES: Readonly<Record<string, string>> = {
  queued: 'Accepted and stored',
  scheduled: 'Accepted for later',
  sending: 'Sending has begun',
  sent: 'Accepted by the next server',
  delivered: "Accepted by the recipient's server",
  deferred: 'Deferred; it will be retried',
  unknown: 'No reply: whether it arrived is unknown; it will be retried',
  bounced: 'Refused permanently',
  hard_bounce: 'Bounced: the address does not exist',
  soft_bounce: 'Bounced: not deliverable for now',
  opened: 'Opened',
  clicked: 'A link was clicked',
  unsubscribed: 'Unsubscribed',
  spam_report: 'Reported as spam',
  blocked: 'Not sent: the address is suppressed',
  failed: 'Given up',
  cancelled: 'Cancelled',
};

export const sentenceOf = ({ eventType }: Pick<EmailEvent, 'eventType'>): string =>
  SENTENCES[eventType] ?? words(eventType);
export const toneOfEvent = ({ eventType }: Pick<EmailEvent, 'eventType'>): Tone => toneOf(eventType);
