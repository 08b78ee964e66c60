import { endOfLife } from '../policy/retry-schedule';
import { SOURCE_SUSPENDED, WARMING_UP, WARMING_UP_WORDS } from '../ports/outcome';
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
  readonly response?: string | undefined;
  /** Why, in plain words, where there was no reply. */
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

function afterReply(attempts: number, { reason, action, response }: LastDeferral): Omit<Why, 'until'> {
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
  return { reason: 'retry', detail: `It waits for attempt ${attempts + 1}, after ${reason ?? 'a deferral'}${said}` };
}
