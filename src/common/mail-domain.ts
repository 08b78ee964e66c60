import { domainToASCII, domainToUnicode } from 'node:url';

export type DomainResult =
  | { readonly ok: true; readonly domain: string }
  | { readonly ok: false; readonly message: string };

/** RFC 1035 section 2.3.4 leaves 253 characters for the written form of a name. */
const MAX_DOMAIN_LENGTH = 253;

/**
 * Labels of 1 to 63 letters, digits and inner hyphens, two of them or more; the last begins with a letter, so that
 * nothing that a resolver or a URL parser reads as an IP address (`1.2.3`, `0x7f.1`) passes. Only A-labels need more care.
 */
const HOST_NAME = /^(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z](?:[a-z0-9-]{0,61}[a-z0-9])?$/;
const A_LABEL = /(?:^|\.)xn--/;
const NON_ASCII = /[^\x00-\x7f]/;

/**
 * Brings a mail domain to its one normal form: lower-case A-labels (UTS #46, RFC 5891), no trailing dot.
 *
 * Stricter than a browser: of all that UTS #46 maps, only case and composed characters (NFC) may differ from what was
 * written. Full-width letters and dots, soft hyphens, percent signs and the like are refused rather than silently turned
 * into another domain, and so are A-labels that are not what their own decoding encodes to.
 */
export function parseDomain(text: string): DomainResult {
  if (text.length > MAX_DOMAIN_LENGTH) return refuse(`has a domain longer than ${MAX_DOMAIN_LENGTH} characters`);
  const lower = text.toLowerCase();
  if (NON_ASCII.test(text)) return fromUnicode(lower.normalize('NFC'));
  if (!HOST_NAME.test(lower)) return refuse(explain(lower));
  if (A_LABEL.test(lower) && !isFaithful(lower)) return refuse('has a domain with an invalid internationalized label');
  return { ok: true, domain: lower };
}

function fromUnicode(written: string): DomainResult {
  const ascii = domainToASCII(written);
  if (ascii === '' || A_LABEL.test(written) || domainToUnicode(ascii) !== written || !HOST_NAME.test(ascii)) {
    return refuse('has an internationalized domain that is not valid or not in its usual spelling');
  }
  if (ascii.length > MAX_DOMAIN_LENGTH) return refuse(`has a domain longer than ${MAX_DOMAIN_LENGTH} characters`);
  return { ok: true, domain: ascii };
}

/** What cannot be decoded is nothing to Node 22, and to Node 24 it is what it was before. */
function isFaithful(ascii: string): boolean {
  const readable = domainToUnicode(ascii);
  return !A_LABEL.test(readable) && domainToASCII(readable) === ascii;
}

function explain(domain: string): string {
  if (domain === '') return 'has no domain';
  if (domain.startsWith('[')) return 'must name a domain, not an IP address';
  if (!domain.includes('.')) return 'needs a full domain with a dot, such as example.com';
  return 'has an invalid domain';
}

function refuse(message: string): DomainResult {
  return { ok: false, message };
}
