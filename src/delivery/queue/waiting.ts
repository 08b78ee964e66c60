import { endOfLife } from '../policy/retry-schedule';
import { OUTCOME_UNKNOWN, SOURCE_SUSPENDED, WARMING_UP, WARMING_UP_WORDS } from '../ports/outcome';
import { SENDING_PAUSED } from '../ports/sources';
import type { HeldBack } from '../shaping/held-destinations.service';
import type { Delivery } from './queue.entity';

/** Why this service itself has put a delivery aside; more may follow. */
export const RESULT_NOT_STORED = 'The result of its last attempt could not be stored';

export const WAITING_REASONS = [
  ...(['scheduled', 'retry', 'turn', 'destination_slowed', 'destination_paused'] as const),
  ...(['domain_paused', 'warming_up', 'held', 'sending'] as const),
] as const;

/** Why an open recipient is not further. */
export interface Waiting {
  readonly reason: (typeof WAITING_REASONS)[number];
  readonly until?: Date;
  /** In plain words. */
  readonly detail: string;
  /** When it is given up at the latest. */
  readonly endsAt: Date;
}

type Why = Omit<Waiting, 'endsAt'>;

/** The result of the last attempt, if stored. */
export interface LastDeferral {
  readonly reason?: string | undefined;
  /** What the rule of the reply called for. */
  readonly action?: string | undefined;
  /** The last line of the reply; without one, what happened instead in this service's words. */
  readonly response?: string | undefined;
  /** Whether `response` is a server's reply. */
  readonly isReply?: boolean | undefined;
  /** In plain words, where the reply alone does not say it, or would mislead. */
  readonly explanation?: string | undefined;
  /** The mail exchanger that replied. */
  readonly mxHost?: string | undefined;
}

interface OpenFacts {
  readonly state: Delivery['state'];
  readonly attempts: number;
  readonly dueAt: Date;
  readonly firstDueAt: Date;
  readonly expiresAt: Date | null;
  readonly heldReason?: string | null;
}

/**
 * Why a delivery in the queue waits, until when, and for how long at most.
 * @param held what all workers hold back of its destination's mail; without it, the last reply speaks for the destination
 */
export function waitingOf(open: OpenFacts, last: LastDeferral = {}, held?: HeldBack): Waiting {
  return { ...whyOf(open, last, held), endsAt: endOfLife(open) };
}

function whyOf(open: OpenFacts, last: LastDeferral, held: HeldBack | undefined): Why {
  switch (open.state) {
    case 'claimed':
      return { reason: 'sending', detail: 'A worker has it' };
    case 'held':
      return { reason: 'held', detail: putAside(open.heldReason ?? '') };
    case 'ready':
      return held ? heldBackBy(held) : { reason: 'turn', detail: 'It is due, and waits for its turn' };
    case 'waiting':
      return untilDue(open, last, held);
  }
}

function putAside(reason: string): string {
  if (reason.startsWith(RESULT_NOT_STORED)) return reason;
  return `An operator has put it aside${reason === '' ? '' : `: ${reason}`}`;
}

function untilDue({ attempts, dueAt }: OpenFacts, last: LastDeferral, held: HeldBack | undefined): Why {
  if (last.reason === SENDING_PAUSED) {
    const detail = last.explanation ?? "Sending from the sender's domain is paused";
    return { reason: 'domain_paused', detail, until: dueAt };
  }
  if (attempts === 0 && last.reason === undefined) {
    return { reason: 'scheduled', detail: 'It waits for its time', until: dueAt };
  }
  if (held?.state !== 'paused') return { ...afterReply(attempts, last), until: dueAt };
  const paused = heldBackBy(held);
  return paused.until && paused.until > dueAt ? paused : { ...paused, until: dueAt };
}

function heldBackBy({ state, until, cause, operator }: HeldBack): Why {
  const said = cause === undefined ? '' : `: ${cause}`;
  const detail = `${operator ? BY_OPERATOR[state] : HELD_WORDS[state]}${said}`;
  return { reason: state === 'paused' ? 'destination_paused' : 'destination_slowed', detail, ...(until && { until }) };
}

const HELD_WORDS: Readonly<Record<HeldBack['state'], string>> = {
  paused: 'The destination gets no mail for now',
  probing: 'The destination gets one mail at a time, until it takes one',
  slowed: 'The destination gets less mail for now',
};

const BY_OPERATOR: Readonly<Record<HeldBack['state'], string>> = {
  ...HELD_WORDS,
  paused: 'The operator of this service has paused mail to the destination',
  slowed: 'The operator of this service has limited mail to the destination',
};

function afterReply(attempts: number, last: LastDeferral): Omit<Why, 'until'> {
  const { reason, action, response } = last;
  if (reason === WARMING_UP) {
    return { reason: 'warming_up', detail: WARMING_UP_WORDS };
  }
  if (reason === SOURCE_SUSPENDED) {
    return { reason: 'destination_paused', detail: 'The destination refuses the addresses that it may leave from' };
  }
  const said = response === undefined ? '' : `: ${response}`;
  if (action === 'suspend') {
    return { reason: 'destination_paused', detail: `The destination refuses this service for now${said}` };
  }
  if (action === 'slow') {
    return { reason: 'destination_slowed', detail: `The destination takes less from this service for now${said}` };
  }
  return { reason: 'retry', detail: `It waits for attempt ${attempts + 1}; ${causeOf(last)}` };
}

/** What a reason means that a reply need not say itself. */
const REPLY_WORDS: Readonly<Record<string, string>> = {
  greylisted: 'the server puts off what it sees for the first time',
  'mailbox-full': "the recipient's mailbox is full",
  'rate-limited': 'the server asks for a slower rate',
};

/** How the last attempt ended, as part of a sentence. */
function causeOf(last: LastDeferral): string {
  const { reason = '', response, isReply } = last;
  if (last.explanation !== undefined) return asPart(last.explanation);
  if (reason === OUTCOME_UNKNOWN) return 'whether the last one delivered it is not known';
  if (response === undefined) return REPLY_WORDS[reason] ?? 'the last one was deferred';
  if (!isReply) return `the last one failed: ${asPart(response)}`;
  return `${REPLY_WORDS[reason] ?? 'the server replied'}: ${response}`;
}

/** What the last attempt says of its destination: an explanation where the reply would mislead. */
export function wordsOf({ explanation, response }: LastDeferral): string | undefined {
  return explanation === undefined ? response : asPart(explanation);
}

/** A sentence of this service within another one; an abbreviation keeps its capitals. */
function asPart(sentence: string): string {
  return sentence.replace(/^[A-Z](?![A-Z])/, (first) => first.toLowerCase());
}
