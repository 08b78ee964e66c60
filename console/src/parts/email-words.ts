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
  retry: 'The last attempt was put off',
  turn: 'It waits for its turn among all mail that is ready',
  destination_slowed: 'Its destination asked to be sent to more slowly',
  destination_paused: 'Sending to its destination is paused',
  domain_paused: 'Sending from its domain is paused',
  warming_up: 'The addresses that it leaves from are new to its receiver, and have sent enough to it today',
  held: 'The operator holds it back',
  sending: 'A worker is sending it right now',
};

/** What the reader can do; mostly that no action is needed. */
const ADVICE: Readonly<Record<string, string>> = {
  scheduled: 'Until then it can be cancelled.',
  retry: 'Nothing to do: it is tried again by itself.',
  turn: 'Nothing to do: it goes out as soon as a worker is free.',
  destination_slowed: 'Nothing to do: it goes out as fast as the receiver takes it.',
  destination_paused: 'It goes on by itself. If it lasts, ask the operator: the page “Destinations” says what helps.',
  domain_paused: 'The page of the domain says what has stopped it, and what brings it back.',
  warming_up: 'Nothing to do: it goes on by itself as its receiver comes to know them.',
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
    return { because: sentence(`Attempt ${attempts} was put off${reply(last)}`), until: nextAttemptAt };
  }
  if (status === 'scheduled' && scheduledFor) return { because: 'It is scheduled.', until: scheduledFor };
  if (status === 'sending') return { because: 'A worker is sending it right now.' };
  if (status === 'sent') return { because: 'The next server has taken it, and has not said yet whether it arrived.' };
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
  sending: 'Taken up by a worker',
  sent: 'Handed to the next server',
  delivered: "Taken by the recipient's server",
  deferred: 'Put off; it is tried again',
  unknown: 'Whether it arrived is not known; it is tried again',
  bounced: 'Refused for good',
  hard_bounce: 'Came back: the address does not exist',
  soft_bounce: 'Came back: not possible for now',
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
