import { domainOf } from '../../../../common/mail-address';

/** Role addresses (RFC 2142 and others): few of their readers have asked for mail, and some complain. */
const ROLES: ReadonlySet<string> = new Set([
  ...[
    'abuse',
    'admin',
    'administrator',
    'billing',
    'careers',
    'contact',
    'ftp',
    'hello',
    'help',
    'helpdesk',
    'hostmaster',
  ],
  ...[
    'hr',
    'info',
    'jobs',
    'mailer-daemon',
    'marketing',
    'no-reply',
    'noc',
    'noreply',
    'office',
    'postmaster',
    'press',
  ],
  ...['privacy', 'root', 'sales', 'security', 'spam', 'support', 'sysadmin', 'team', 'usenet', 'webmaster', 'www'],
]);

/** Large services with disposable mailboxes; complete lists become outdated within days. */
const DISPOSABLE: ReadonlySet<string> = new Set([
  ...['10minutemail.com', '33mail.com', 'burnermail.io', 'discard.email', 'dispostable.com', 'emailondeck.com'],
  ...['fakeinbox.com', 'getairmail.com', 'getnada.com', 'grr.la', 'guerrillamail.com', 'guerrillamail.net'],
  ...['guerrillamail.org', 'inboxkitten.com', 'mail-temp.com', 'mailcatch.com', 'maildrop.cc', 'mailinator.com'],
  ...['mailnesia.com', 'mailsac.com', 'minuteinbox.com', 'mintemail.com', 'moakt.com', 'mohmal.com', 'mytemp.email'],
  ...[
    'sharklasers.com',
    'spam4.me',
    'spamgourmet.com',
    'temp-mail.org',
    'tempail.com',
    'tempmail.com',
    'tempmailo.com',
  ],
  ...[
    'tempr.email',
    'throwawaymail.com',
    'trash-mail.com',
    'trashmail.com',
    'trashmail.de',
    'yopmail.com',
    'yopmail.fr',
  ],
]);

/** Domains of large providers, long enough that a name with one typo is unlikely to be another provider. */
const LARGE = [
  ...[
    'gmail.com',
    'googlemail.com',
    'yahoo.com',
    'yahoo.co.uk',
    'yahoo.fr',
    'hotmail.com',
    'hotmail.co.uk',
    'hotmail.fr',
  ],
  ...['outlook.com', 'icloud.com', 'protonmail.com', 'comcast.net', 'verizon.net', 'sbcglobal.net', 't-online.de'],
  ...['wanadoo.fr', 'laposte.net', 'libero.it', 'rediffmail.com'],
];
/** Names of providers that differ by one character from a large provider's. */
const OWN_NAMES: ReadonlySet<string> = new Set([...LARGE, 'mail.com', 'ymail.com', 'email.com']);

/**
 * Warnings for the sender about recipients, which do not prevent delivery: role addresses, disposable mailboxes, likely typos in
 * large providers' domains. No warning names a person.
 * @param addresses at most some dozens, domains in lower case and A-labels
 */
export function hygieneWarnings(addresses: readonly string[]): string[] {
  const warnings = addresses.flatMap((address) => {
    const domain = domainOf(address);
    return [roleWarning(address.slice(0, -domain.length - 1)), disposableWarning(domain), slipWarning(domain)];
  });
  return [...new Set(warnings.filter((warning) => warning !== undefined))];
}

function roleWarning(localPart: string): string | undefined {
  const name = localPart.toLowerCase();
  return ROLES.has(name) ? `"${name}@" names a role, not a person: few who read it have asked for mail` : undefined;
}

function disposableWarning(domain: string): string | undefined {
  return DISPOSABLE.has(domain)
    ? `${domain} gives out mailboxes for minutes: the recipient may not exist for long`
    : undefined;
}

function slipWarning(domain: string): string | undefined {
  if (OWN_NAMES.has(domain)) return undefined;
  const meant = LARGE.find((large) => isOneSlipFrom(domain, large));
  return meant === undefined ? undefined : `${domain} looks like a slip: did you mean ${meant}?`;
}

/** Whether two texts differ by one inserted, missing or replaced character, or by two exchanged neighbours. */
function isOneSlipFrom(text: string, meant: string): boolean {
  if (Math.abs(text.length - meant.length) > 1) return false;
  let start = 0;
  while (start < text.length && text[start] === meant[start]) start += 1;
  const [rest, wanted] = [text.slice(start), meant.slice(start)];
  if (rest.slice(1) === wanted || rest === wanted.slice(1)) return true;
  if (rest.slice(1) === wanted.slice(1)) return rest !== wanted;
  return rest.slice(2) === wanted.slice(2) && rest[0] === wanted[1] && rest[1] === wanted[0];
}
