import { parse } from 'tldts';
import { ValidationError } from '../../common/errors/app-error';
import { parseDomain } from '../../common/mail-domain';

export interface DomainName {
  /** Lower-case A-labels, no trailing dot. */
  readonly domain: string;
  /** The labels before the registrable domain. */
  readonly subdomain: string | null;
}

/**
 * Brings a sender domain into normal form.
 * @throws ValidationError for a malformed name or a public suffix
 */
export function normalizeDomainName(text: string): DomainName {
  const trimmed = text.trim().replace(/\.$/, '');
  if (trimmed.length < 4 || trimmed.length > 253) throw refused('must be 4 to 253 characters long');
  const parsed = parseDomain(trimmed);
  if (!parsed.ok) throw refused(parsed.message);
  const { domain: registrable, subdomain } = parse(parsed.domain, { allowPrivateDomains: true });
  if (!registrable) throw refused('must not be a public suffix');
  return { domain: parsed.domain, subdomain: subdomain ? subdomain : null };
}

function refused(problem: string): ValidationError {
  return new ValidationError({ domain: [`domain ${problem}`] });
}
