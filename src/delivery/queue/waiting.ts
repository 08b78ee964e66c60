import { SOURCE_SUSPENDED, WARMING_UP } from '../ports/outcome';
import { SENDING_PAUSED } from '../ports/sender-sources';
import type { Delivery } from './delivery.entity';

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
}

/** What the last attempt came to, as far as that is known. */
export interface LastDeferral {
  readonly reason?: string | undefined;
  /** What the rule of the reply called for. */
  readonly action?: string | undefined;
  readonly response?: string | undefined;
}

interface OpenFacts {
  readonly state: Delivery['state'];
  readonly attempts: number;
  readonly dueAt: Date;
}

/** Why a delivery in the queue waits, and until when. */
export function waitingOf({ state, attempts, dueAt }: OpenFacts, last: LastDeferral = {}): Waiting {
  switch (state) {
    case 'claimed':
      return { reason: 'sending', detail: 'A worker has it' };
    case 'held':
      return { reason: 'held', detail: 'An operator has put it aside' };
    case 'ready':
      return { reason: 'turn', detail: 'It is due, and waits for its turn' };
    case 'waiting':
      return { ...pauseOf(attempts, last), until: dueAt };
  }
}

function pauseOf(attempts: number, { reason, action, response }: LastDeferral): Omit<Waiting, 'until'> {
  if (reason === SENDING_PAUSED) {
    return { reason: 'domain_paused', detail: "Sending from the sender's domain is paused" };
  }
  if (reason === WARMING_UP) {
    const detail = 'The addresses that it may leave from are new to this receiver, and have sent enough to it today';
    return { reason: 'warming_up', detail };
  }
  if (reason === SOURCE_SUSPENDED) {
    return { reason: 'destination_paused', detail: 'The destination refuses the addresses that it may leave from' };
  }
  if (attempts === 0 && reason === undefined) return { reason: 'scheduled', detail: 'It waits for its time' };
  const said = response === undefined ? '' : `: ${response}`;
  if (action === 'suspend') {
    return { reason: 'destination_paused', detail: `The destination refuses this service for now${said}` };
  }
  if (action === 'slow') {
    return { reason: 'destination_slowed', detail: `The destination takes less from this service for now${said}` };
  }
  return { reason: 'retry', detail: `It waits for attempt ${attempts + 1}, after ${reason ?? 'a deferral'}${said}` };
}
