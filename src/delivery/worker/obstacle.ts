import { type ClaimedDelivery, SUSPECT_CRASHES } from '../ports/delivery';
import { ITS_TURN_WORDS } from '../ports/outcome';
import type { HeldBack } from '../shaping/held-destinations.service';

type Facts = Pick<ClaimedDelivery, 'destination' | 'crashes' | 'overdue'>;

/**
 * What kept the next attempt from beginning in time, for the sender, in plain words; undefined where only the last result may say it.
 * An operator's own words are told. A reply that another tenant got is not: it may name a recipient.
 *
 * @param held what all workers hold back of its destination's mail
 */
export function obstacleOf({ destination, crashes, overdue }: Facts, held: HeldBack | undefined): string | undefined {
  const { state, heldAt, heldReason } = overdue ?? {};
  if (state === 'held' || heldAt) {
    return `the operator of this service had put it aside${since(heldAt)}${because(heldReason)}`;
  }
  if (crashes >= SUSPECT_CRASHES) return 'workers had died while they held it, so that it waited to be tried apart';
  if (held && (state !== 'waiting' || held.state === 'paused')) return heldBack(destination, held);
  return state === 'ready' ? ITS_TURN_WORDS : undefined;
}

function heldBack(destination: string, { state, cause, operator }: HeldBack): string {
  if (operator) {
    const what =
      state === 'paused' ? `paused mail to ${destination}` : `limited mail to ${destination} (${operator.effect})`;
    return `the operator of this service had ${what}${since(operator.since)}${because(cause)}`;
  }
  switch (state) {
    case 'paused':
      return `mail to ${destination} was paused, as its servers had refused mail from this service or had not answered`;
    case 'probing':
      return `${destination} got one mail at a time, as its servers had refused mail from this service or had not answered`;
    case 'slowed':
      return `${destination} took less mail from this service than there was for it`;
  }
}

function since(at: Date | null | undefined): string {
  return at ? ` since ${at.toISOString().slice(0, 19)}Z` : '';
}

function because(reason: string | null | undefined): string {
  return reason ? `: ${reason}` : '';
}
