import { domainToASCII } from 'node:url';
import { parse } from 'tldts';
import { ValidationError } from '../../../common/errors/app-error';
import { parseDomain } from '../../../common/mail-domain';
import type { DeliveryConfig, DnsConfig, HttpConfig } from '../../../config/config';

export interface DomainName {
  /** Lower-case A-labels, no trailing dot. */
  readonly domain: string;
  /** The labels before the registrable domain. */
  readonly subdomain: string | null;
}

/** The longest written form is 253 characters (RFC 1035 section 2.3.4). */
const MIN_LENGTH = 4;
const MAX_LENGTH = 253;
const LENGTH = `must be ${MIN_LENGTH} to ${MAX_LENGTH} characters long`;
/** The message for names that the list of mistakes below does not cover. */
const SPELLING = 'has an internationalized label that is not valid or not in its usual spelling';

/**
 * Normalizes a sender domain.
 * @throws ValidationError for a malformed name or a public suffix
 */
export function normalizeDomainName(text: string): DomainName {
  const name = text.replace(/\.$/, '');
  const mistake = findMistake(name);
  if (mistake !== undefined) throw refusedName(mistake);
  const parsed = parseDomain(name);
  if (!parsed.ok) throw refusedName(parsed.message.includes('longer') ? LENGTH : SPELLING);
  const { domain: registrable, subdomain } = parse(parsed.domain, { allowPrivateDomains: true });
  if (!registrable) throw refusedName('must be a name under a public suffix, not a public suffix itself');
  return { domain: parsed.domain, subdomain: subdomain ? subdomain : null };
}

/** A part of a stored name as a user writes it: whole labels of an international name may be in their readable form. */
export function storedPart(text: string): string {
  const written = text.toLowerCase().normalize('NFC');
  return /[^\u0000-\u007f]/.test(written) ? domainToASCII(written) || written : written;
}

function refusedName(problem: string): ValidationError {
  return new ValidationError({ domain: [`domain ${problem}`] });
}

const MISTAKES: readonly [RegExp, string][] = [
  [/[/:]/, 'must be a name alone, without a protocol, a port or a path'],
  [/@/, 'must be a domain, not an email address'],
  [/[\s\u0000-\u001f\u007f]/, 'must not contain white space or control characters'],
  [/\*/, 'must be one name, not a pattern'],
  [/_/, 'must not contain underscores: no mail server has such a name'],
  [/^\.|\.\.|\.$/, 'must not have an empty label'],
  [/^[\d.]+$/, 'must be a name, not an IP address'],
  [/[^.]{64}/, 'must not have a label longer than 63 characters'],
  [/^-|-\.|\.-|-$/, 'must not have a label that begins or ends with a hyphen'],
  [/\.[^.]$/, 'must end in a label of 2 characters or more'],
  [/^[^.]+$/, 'needs a dot, such as example.com'],
  [/\.\d[^.]*$/, 'must not end in a label that begins with a digit'],
  [/[^a-z\d.\-\u0080-\uffff]/i, 'must consist of letters, digits, hyphens and dots'],
  // No top-level domain has a digit or a hyphen, except in the A-labels of internationalized ones.
  [/\.(?!xn--)[^.]*[\d-][^.]*$/i, 'must end in a label of letters alone, such as com'],
];

/** The message for a common mistake. The grammar itself is checked afterwards. */
function findMistake(text: string): string | undefined {
  if (text.length < MIN_LENGTH || text.length > MAX_LENGTH) {
    return LENGTH;
  }
  return MISTAKES.find(([pattern]) => pattern.test(text))?.[1];
}

/** The part of the configuration with host names. */
interface HostNames {
  readonly delivery: Pick<DeliveryConfig, 'mailHost'>;
  readonly http: Pick<HttpConfig, 'publicUrl'>;
  readonly dns: Pick<DnsConfig, 'dkimZone' | 'nameServerHosts' | 'spfHost' | 'bounceHost' | 'trackingHost'>;
}

/**
 * Whether a name belongs to the service: a customer who registered it could send in the name of the service.
 * @param domain in normal form
 */
export function isOwnName(domain: string, { delivery, dns, http }: HostNames): boolean {
  const { dkimZone, nameServerHosts, spfHost, bounceHost, trackingHost } = dns;
  const hosts = [delivery.mailHost, new URL(http.publicUrl).hostname, spfHost, bounceHost, trackingHost];
  if (hosts.includes(domain) || nameServerHosts.includes(domain)) return true;
  return dkimZone !== undefined && `.${domain}`.endsWith(`.${dkimZone}`);
}

/**
 * The normal form of a name that a customer may send from.
 * @throws ValidationError for what `normalizeDomainName` refuses, and for the service's own names
 */
export function normalizeSenderDomain(text: string, config: HostNames): DomainName {
  const name = normalizeDomainName(text);
  if (isOwnName(name.domain, config)) throw refusedName('must not be a host name of this service');
  return name;
}
