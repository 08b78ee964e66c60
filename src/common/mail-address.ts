import { parseDomain } from './mail-domain';

/** A mailbox as RFC 5322 names it: an address with an optional display name. */
export interface Mailbox {
  /** Normal form: the domain in lower-case A-labels, the local part as given. */
  readonly email: string;
  readonly name?: string;
}

export type MailboxResult = { readonly ok: true; readonly mailbox: Mailbox } | Refusal;
export type AddressResult = { readonly ok: true; readonly email: string } | Refusal;

interface Refusal {
  readonly ok: false;
  /** For API users; reads after the field's name. */
  readonly message: string;
}

/** RFC 5321 section 4.5.3.1 and RFC 3696 erratum 1690, all in octets. */
const MAX_LOCAL_OCTETS = 64;
const MAX_ADDRESS_OCTETS = 254;
const MAX_NAME_LENGTH = 320;
/** A name with every character escaped, an address, and the signs around them; longer text is refused unread. */
const MAX_TEXT_LENGTH = 1_024;

const EXPECTED = 'must be one address: "a@b.example", "Name <a@b.example>" or an object {email, name}';

const DOT_ATOM = /^[\w!#$%&'*+/=?^`{|}~-]+(?:\.[\w!#$%&'*+/=?^`{|}~-]+)*$/;
/** RFC 6531 section 3.3: a dot-atom in which every non-ASCII character counts as atext. */
const DOT_ATOM_UTF8 = /^[\w!#$%&'*+/=?^`{|}~\x80-\uffff-]+(?:\.[\w!#$%&'*+/=?^`{|}~\x80-\uffff-]+)*$/;
/**
 * Controls, format and bidi characters, lone surrogates, private and unassigned code points (which no normal form is
 * defined for), all spaces, all that is invisible; and a leading combining mark, which would join the `<` before it.
 */
const UNFIT_IN_LOCAL_PART = /^\p{M}|[\p{C}\p{Z}\p{Default_Ignorable_Code_Point}]/u;
/** Controls, lone surrogates, line and paragraph separators, and what reorders the text around it. */
const UNFIT_IN_NAME = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\u202a-\u202e\u2066-\u2069]/u;
/** RFC 5322 section 3.2.3 `specials` except the dot, which is common in names. */
const SPECIALS = /[()<>[\]:;@\\,"]/;
/** No address may have one (RFC 2047 section 5), yet programs decode it, and show `ceo@bank.example` before the real @. */
const ENCODED_WORD = /=\?[^?]+\?[bq]\?/i;
const QUOTED_STRING = /^"((?:[^"\\]|\\.)*)"$/s;
const NON_ASCII = /[^\x00-\x7f]/;

/**
 * Reads exactly one mailbox, from a string or from an object {email, name?}; never throws.
 *
 * A grammar of our own, because list parsers of mail libraries keep finding a second recipient in one string
 * (CVE-2026-121425, CVE-2026-125755). No lists, groups, comments, folding, source routes or address literals. Quoted
 * local parts (`"a b"@c.example`) are refused: hardly any address has one, and parsers disagree on where they end.
 * The result is the normal form, and parsing it again gives the same.
 */
export function parseMailbox(input: unknown): MailboxResult {
  if (typeof input === 'string') return parseText(input);
  if (typeof input !== 'object' || input === null || Array.isArray(input)) return refuse(EXPECTED);
  const { email, name } = input as { email?: unknown; name?: unknown };
  if (typeof email !== 'string') return refuse('needs an email that is a string');
  if (name !== undefined && name !== null && typeof name !== 'string') return refuse('has a name that is not a string');
  return combine(email, name ?? '');
}

/** Reads one bare address such as `a@b.example`; never throws. `email` is the normal form. */
export function parseAddress(text: string): AddressResult {
  if (text.length > MAX_TEXT_LENGTH) return refuse('is too long for an address');
  const at = text.indexOf('@');
  if (at < 0) return refuse('must be one address such as a@b.example');
  if (text.includes('@', at + 1)) return refuse('must contain exactly one @');
  const localPart = text.slice(0, at).normalize('NFC');
  const fault = localPartFault(localPart);
  if (fault !== undefined) return refuse(fault);
  const domain = parseDomain(text.slice(at + 1));
  if (!domain.ok) return domain;
  const email = `${localPart}@${domain.domain}`;
  if (Buffer.byteLength(email) > MAX_ADDRESS_OCTETS) return refuse(`is longer than ${MAX_ADDRESS_OCTETS} bytes`);
  return { ok: true, email };
}

/**
 * The form in which addresses are matched (suppressions, duplicates, statistics): all lower case. No provider runs
 * two mailboxes that differ in case only, although RFC 5321 section 2.4 allows it.
 */
export function addressKey(email: string): string {
  return email.toLowerCase().normalize('NFC');
}

/** The part after the @. */
export function domainOf(email: string): string {
  return email.slice(email.lastIndexOf('@') + 1);
}

/** True for an address that only a server with SMTPUTF8 (RFC 6531) can be given. */
export function needsSmtpUtf8(email: string): boolean {
  return NON_ASCII.test(email);
}

function parseText(text: string): MailboxResult {
  if (text.length > MAX_TEXT_LENGTH) return refuse('is too long for an address');
  if (!text.endsWith('>')) return combine(text, '');
  const open = text.lastIndexOf('<');
  if (open < 0) return refuse(EXPECTED);
  if (UNFIT_IN_NAME.test(text)) return refuse('has a name with control characters');
  const phrase = text.slice(0, open).trim();
  const quoted = QUOTED_STRING.exec(phrase)?.[1];
  if (quoted === undefined && SPECIALS.test(phrase)) {
    return refuse('has a name that must stand in quotes, or be given as an object {email, name}');
  }
  return combine(text.slice(open + 1, -1), quoted?.replace(/\\(.)/gs, '$1') ?? phrase);
}

function combine(email: string, givenName: string): MailboxResult {
  if (givenName.length > MAX_NAME_LENGTH) return refuse(`has a name longer than ${MAX_NAME_LENGTH} characters`);
  if (UNFIT_IN_NAME.test(givenName)) return refuse('has a name with control characters');
  const address = parseAddress(email);
  if (!address.ok) return address;
  const name = givenName.trim();
  return { ok: true, mailbox: name === '' ? { email: address.email } : { email: address.email, name } };
}

function localPartFault(localPart: string): string | undefined {
  if (ENCODED_WORD.test(localPart)) return 'has an encoded word before the @';
  if (DOT_ATOM.test(localPart)) return tooLong(localPart.length);
  if (localPart === '') return 'has nothing before the @';
  if (localPart.startsWith('"')) return 'has a quoted part before the @, which is not supported';
  if (localPart.includes(' ')) return 'has a space before the @ (in a URL, a plus sign is written %2B)';
  // After NFC, because some characters compose to ASCII signs: U+037E becomes a semicolon.
  if (!DOT_ATOM_UTF8.test(localPart) || UNFIT_IN_LOCAL_PART.test(localPart)) {
    return 'has characters before the @ that an address cannot have';
  }
  return tooLong(Buffer.byteLength(localPart));
}

function tooLong(octets: number): string | undefined {
  return octets > MAX_LOCAL_OCTETS ? `has more than ${MAX_LOCAL_OCTETS} bytes before the @` : undefined;
}

function refuse(message: string): Refusal {
  return { ok: false, message };
}

/** An address as shown to holders of a link: `j***@example.com`. */
export function maskAddress(email: string): string {
  const at = email.lastIndexOf('@');
  const [first = ''] = email.slice(0, Math.max(0, at));
  return `${first}***${email.slice(at)}`;
}
