import type { Unroutable } from './router';

/** Every way in which a destination can have no route, with its code. */

export const NO_SUCH_DOMAIN = permanent('5.1.2', 'The domain does not exist.');

export const NOT_A_DOMAIN = permanent('5.1.2', 'The destination is not a domain name.');

/** RFC 7505: the domain says that it takes no mail. */
export const NULL_MX = permanent('5.1.10', 'The domain accepts no mail (null MX).');

export const NO_ADDRESS = permanent('5.4.4', 'Neither the domain nor its mail exchangers have an address.');

export const NO_USABLE_ADDRESS = permanent('5.4.4', 'The mail exchangers have no address on the public Internet.');

export const LEADS_BACK = permanent('5.4.6', 'The mail exchangers lead back to this service.');

/** Nothing may be concluded from silence or SERVFAIL, so this never bounces at first sight. */
export function dnsTrouble(cause: string): Unroutable {
  return { kind: 'unroutable', permanent: false, enhancedCode: '4.4.3', reason: `DNS look-up failed (${cause}).` };
}

function permanent(enhancedCode: string, reason: string): Unroutable {
  return { kind: 'unroutable', permanent: true, enhancedCode, reason };
}
