/**
 * What receiving servers do, by kind: how many there are of it, the share of mail that they get, what has to become of
 * that mail, and what is between us and them (`toxic`, see network/toxic-proxy.mjs).
 *
 * Refusals for good stay far below the 5 % from which the service slows a sender down. Faults hit a part of the conversations, so that a destination is in trouble but not dead: the service pauses a dead one
 * for up to a quarter of an hour, which no short run can wait for.
 */
export const KINDS = {
  /** Takes everything, within milliseconds. */
  ok: { servers: 12, share: 880, outcome: 'delivered' },
  /** Waits 20 s before each reply, until the sending is over. */
  tarpit: { servers: 30, share: 18, outcome: 'delivered' },
  /** Refuses every recipient once, for now. */
  greylist: { servers: 2, share: 15, outcome: 'delivered' },
  /** Refuses every message once for now, after the final dot. */
  tempfail: { servers: 1, share: 10, outcome: 'delivered' },
  /** No such mailbox. */
  reject: { servers: 3, share: 6, outcome: 'bounced' },
  /** Refuses the content after the final dot. */
  refuse: { servers: 1, share: 4, outcome: 'bounced' },
  /** Closes exactly after the final dot, without a reply, at a part of the first attempts. */
  cutdot: { servers: 3, share: 12, outcome: 'delivered' },
  /** Ends a part of the connections within the first message. */
  cut: { servers: 3, share: 12, outcome: 'delivered', toxic: 'cut' },
  /** Resets a part of the connections at once. */
  rst: { servers: 3, share: 12, outcome: 'delivered', toxic: 'rst' },
  /** Every byte takes its time in both directions. */
  latency: { servers: 2, share: 12, outcome: 'delivered', toxic: 'latency' },
  /** Takes connections for a while, and nothing more. */
  hole: { servers: 2, share: 8, outcome: 'delivered', toxic: 'hole' },
  /** Reads large mail slowly. */
  slowread: { servers: 2, share: 6, outcome: 'delivered', toxic: 'slowread' },
};

const ZONE = 'chaos.test';
const NETWORK = '127.77';

/**
 * Every receiving server, with an address of its own: the service remembers trouble by address.
 * @param tarpits how many of that kind
 * @returns `{kind, domain, address}` each
 */
export function makeDestinations(tarpits) {
  return Object.entries(KINDS).flatMap(([kind, { servers }], row) =>
    Array.from({ length: kind === 'tarpit' ? tarpits : servers }, (_, index) => ({
      kind,
      domain: `${kind}-${index}.${ZONE}`,
      address: `${NETWORK}.${row}.${index + 1}`,
    })),
  );
}
