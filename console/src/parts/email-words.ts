import type { EmailDetail, EmailEvent, EmailRecipient } from '../api/types';
import { moment, words } from './format';
import { type Tone, toneOf } from './tones';

const FINAL: ReadonlySet<string> = new Set(['delivered', 'bounced', 'failed']);

export const isFinal = (status: string): boolean => FINAL.has(status);

/** Why an open recipient waits, as the service tells it where it does (contract, section 17). */
export interface Waiting {
  readonly reason: string;
  readonly until?: string;
  readonly detail?: string;
}

const REASONS: Readonly<Record<string, string>> = {
  scheduled: 'It is scheduled.',
  retry: 'The last attempt was put off; it is tried again.',
  turn: 'It waits for its turn among all mail that is ready.',
  destination_slowed: 'Its destination asked to be sent to more slowly.',
  destination_paused: 'Sending to its destination is paused.',
  domain_paused: 'Sending from its domain is paused.',
  warming_up: 'The addresses that it leaves from are new to its receiver, and have sent enough to it today.',
  held: 'The operator holds it back.',
  sending: 'A worker is sending it right now.',
};

/** One sentence about why a recipient's copy is not there yet; undefined once it has come to its end. */
export function whyItWaits(
  email: Pick<EmailDetail, 'scheduledFor' | 'events'>,
  recipient: EmailRecipient & { waiting?: Waiting },
): string | undefined {
  if (isFinal(recipient.status)) return undefined;
  const { waiting } = recipient;
  if (waiting) {
    const said = waiting.detail ?? REASONS[waiting.reason] ?? words(waiting.reason);
    return waiting.until ? `${said} Next: ${moment(waiting.until)}.` : said;
  }
  return derived(email, recipient);
}

function derived(
  { scheduledFor, events }: Pick<EmailDetail, 'scheduledFor' | 'events'>,
  recipient: EmailRecipient,
): string {
  const { status, nextAttemptAt, attempts } = recipient;
  const last = events.findLast(
    ({ eventType, eventData }) => eventType === 'deferred' && eventData.recipient === recipient.email,
  );
  if (last && nextAttemptAt) {
    return `Attempt ${attempts} was put off${reply(last)}. It is tried again at ${moment(nextAttemptAt)}.`;
  }
  if (status === 'scheduled' && scheduledFor) return `It is scheduled for ${moment(scheduledFor)}.`;
  if (status === 'sending') return 'A worker is sending it right now.';
  if (status === 'sent') return 'The next server has taken it, and has not said yet whether it arrived.';
  return 'It is ready and waits for its turn.';
}

function reply({ eventData }: EmailEvent): string {
  return typeof eventData.response === 'string' ? `: the server said “${eventData.response}”` : '';
}

const SENTENCES: Readonly<Record<string, string>> = {
  queued: 'Accepted and stored',
  scheduled: 'Accepted for later',
  sending: 'Taken up by a worker',
  sent: 'Handed to the next server',
  delivered: "Taken by the recipient's server",
  deferred: 'Put off; it is tried again',
  unknown: 'The server gave no answer after the message; it is tried again',
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
