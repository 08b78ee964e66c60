import { domainToASCII } from 'node:url';
import { PUBLIC_MAILBOXES, type PublicMailbox } from './inbound-report.entity';

/** The local part to try as a return path, or what the address is instead. */
export type BounceAddress =
  | { readonly kind: 'ours'; readonly localPart: string }
  | { readonly kind: 'public'; readonly mailbox: PublicMailbox }
  | { readonly kind: 'unknown' }
  | { readonly kind: 'foreign' };

const BOUNCE_HOST = /^bounce\.[^.]/;
/** `user%other@host`, `other!user@host`, `@a,@b:user`: obsolete source routes that request forwarding. */
const ROUTE = /[%!@:]/;

/**
 * Sorts a recipient by its form. Ours are addresses at the return path's host, or at the `bounce.` host of any domain; the
 * token shows whether one is genuine, so the domain need not be known. Public mailboxes are at the mail host alone, but for
 * `postmaster`, which needs no domain (RFC 5321 section 4.5.1).
 *
 * @param address as in SMTP: `local@domain`, or without a domain
 */
export function readBounceAddress(address: string, mailHost: string): BounceAddress {
  const at = address.lastIndexOf('@');
  const localPart = at === -1 ? address : address.slice(0, at);
  const host = domainToASCII(address.slice(at + 1)).toLowerCase();
  if (at !== -1 && host !== mailHost && !BOUNCE_HOST.test(host)) return { kind: 'foreign' };
  if (ROUTE.test(localPart)) return { kind: 'foreign' };
  const mailbox = PUBLIC_MAILBOXES.find((name) => name === localPart.toLowerCase());
  if (mailbox && (at === -1 ? mailbox === 'postmaster' : host === mailHost)) return { kind: 'public', mailbox };
  return at === -1 ? { kind: 'unknown' } : { kind: 'ours', localPart };
}
