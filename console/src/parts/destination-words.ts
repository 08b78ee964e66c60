import type { Destination, EgressPool } from '../api/types';
import { moment, plural } from './format';

/** The problem, and the remedy. */
export interface Advice {
  readonly why: string;
  readonly what: string;
}

/** A pause stops mail, so it is worse than a limit. */
export const DESTINATION_TONES = { open: 'good', slowed: 'warn', probing: 'warn', paused: 'bad' } as const;

const until = (at: string | undefined): string => (at === undefined ? '' : `, until ${moment(at)}`);
const quoted = (cause: string | undefined): string => (cause === undefined ? '' : `: “${cause}”`);

/** Why a group of destinations is limited or paused, and the remedy. */
export function adviceFor(destination: Destination): Advice {
  const { state, cause, rules, until: end } = destination;
  const own = rules.find(({ source, cause: said }) => source === 'operator' && said === cause);
  switch (state) {
    case 'open':
      return { why: 'It takes mail as fast as it answers.', what: 'Nothing is to be done.' };
    case 'probing':
      return {
        why: `It was paused${quoted(cause)}. A few mails are sent to see whether it takes them again.`,
        what: 'Nothing is to be done: it opens by itself when they are taken, and is paused for longer when not.',
      };
    case 'paused':
      return own
        ? {
            why: `An operator has paused it${quoted(cause)}${until(end)}.`,
            what: 'Resume it when the reason is gone. What waits ends as failed four days after it was due.',
          }
        : {
            why: `Attempts there fail again and again${quoted(cause)}. It is left alone${until(end)}.`,
            what: 'It is tried again by itself. Where the answer names a block list or a policy, ask its operator to lift it first: resumed earlier, it refuses again and is paused for longer.',
          };
    case 'slowed':
      return own
        ? {
            why: `An operator has limited it${quoted(cause)}${until(end)}.`,
            what: 'Remove the limit when the reason is gone.',
          }
        : {
            why: `Its servers have asked for less at a time${quoted(cause)}.`,
            what: 'Nothing is to be done: it gets faster by itself while mail is taken. A limit of your own avoids the next refusal.',
          };
  }
}

/** Refusals of the addresses of a pool, and the remedy. */
export function adviceForPool({ addresses, pool }: EgressPool): Advice {
  const refused = addresses.filter(({ state }) => state === 'suspended');
  if (refused.length === 0) return adviceForAccepted(pool, addresses.length);
  const names = refused.map(({ address }) => address).join(', ');
  const isAll = refused.length === addresses.length;
  return {
    why: `${plural(refused.length, 'address is', 'addresses are')} refused for ${refused.length === 1 ? 'its' : 'their'} reputation: ${names}.`,
    what: isAll
      ? 'Mail to those receivers waits: ask them to take the addresses off their lists, and look for the sender of the mail they complain of.'
      : 'Mail to those receivers leaves from the other addresses meanwhile. Ask them to take the address off their lists, and look for the sender of the mail they complain of.',
  };
}

function adviceForAccepted(pool: string, addresses: number): Advice {
  if (pool === 'default') {
    return {
      why: 'The system chooses the address.',
      what: 'Name pools in EGRESS_POOLS to decide whose mail leaves from which address.',
    };
  }
  if (addresses === 0) return { why: 'It has no addresses.', what: 'Give it addresses in EGRESS_POOLS.' };
  return { why: 'No receiver refuses any of them.', what: 'Nothing is to be done.' };
}
