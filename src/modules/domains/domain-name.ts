import { parse } from 'tldts';
import { ValidationError } from '../../common/errors/app-error';
import { parseDomain } from '../../common/mail-domain';

export interface DomainName {
  /** Lower-case A-labels, no trailing dot. */
  readonly domain: string;
  /** The labels before the registrable domain. */
  readonly subdomain: string | null;
}

/** RFC 1035 section 2.3.4: 253 characters are left for the written form. */
const MIN_LENGTH = 4;
const MAX_LENGTH = 253;
const LENGTH = `must be ${MIN_LENGTH} to ${MAX_LENGTH} characters long`;
/** The rest is plain once the mistakes below are out of the way. */
const SPELLING = 'has an internationalized label that is not valid or not in its usual spelling';

/**
 * Brings a sender domain into normal form.
 * @throws ValidationError for a malformed name or a public suffix
 */
export function normalizeDomainName(text: string): DomainName {
  const trimmed = text.trim().replace(/\.$/, '');
  const mistake = findMistake(trimmed);
  if (mistake !== undefined) throw refusedName(mistake);
  const parsed = parseDomain(trimmed);
  if (!parsed.ok) throw refusedName(parsed.message.includes('longer') ? LENGTH : SPELLING);
  const { domain: registrable, subdomain } = parse(parsed.domain, { allowPrivateDomains: true });
  if (!registrable) throw refusedName('must be a name under a public suffix, not a public suffix itself');
  return { domain: parsed.domain, subdomain: subdomain ? subdomain : null };
}

export function refusedName(problem: string): ValidationError {
  return new ValidationError({ domain: [`domain ${problem}`] });
}

const MISTAKES: readonly [RegExp, string][] = [
  [/[/:]/, 'must be a name alone, without a protocol, a port or a path'],
  [/@/, 'must be a domain, not an email address'],
  [/\s/, 'must not contain blanks'],
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
];

/** What people mistake a domain for, each with a sentence of its own. The grammar itself is looked at afterwards. */
function findMistake(text: string): string | undefined {
  if (text.length < MIN_LENGTH || text.length > MAX_LENGTH) {
    return LENGTH;
  }
  return MISTAKES.find(([pattern]) => pattern.test(text))?.[1];
}
