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
      return { why: 'Mail to it is not limited.', what: 'No action is needed.' };
    case 'probing':
      return {
        why: `It was paused${quoted(cause)}. A few emails are sent to check whether it accepts mail again.`,
        what: 'No action is needed: it opens automatically if they are accepted, and is paused for longer if not.',
      };
    case 'paused':
      return own
        ? {
            why: `An operator has paused it${quoted(cause)}${until(end)}.`,
            what: 'Resume it once the reason is gone. Waiting mail fails four days after it was due.',
          }
        : {
            why: `Attempts keep failing${quoted(cause)}. It is paused${until(end)}.`,
            what: 'It is tried again automatically. If the reply names a block list or a policy, ask its operator to lift it first: resumed too early, the destination refuses again and is paused for longer.',
          };
    case 'slowed':
      return own
        ? {
            why: `An operator has limited it${quoted(cause)}${until(end)}.`,
            what: 'Remove the limit once the reason is gone.',
          }
        : {
            why: `Its servers asked for less mail at a time${quoted(cause)}.`,
            what: 'No action is needed: it speeds up automatically while mail is accepted. A limit of your own avoids the next refusal.',
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
      ? 'Mail to those receivers waits. Ask them to delist the addresses, and find the sender of the mail that they complain about.'
      : 'Mail to those receivers leaves from the other addresses in the meantime. Ask them to delist the address, and find the sender of the mail that they complain about.',
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
  return { why: 'No receiver refuses them.', what: 'No action is needed.' };
}
