import type { FieldReader } from './field-reader';

const MAX_HEADERS = 50;
const MAX_VALUE = 998;
/** RFC 5322 section 3.6.8: printable US-ASCII without the colon; the length leaves room for a value on a 78-octet line. */
const HEADER_NAME = /^[!-9;-~]{1,76}$/;

const CONTROL = /[\u0000-\u0008\u000a-\u001f\u007f]/;

/** Names that the service writes itself, or that would change how the mail is read or routed. */
const RESERVED = new Set([
  ...['from', 'to', 'cc', 'bcc', 'subject', 'date', 'message-id', 'sender', 'reply-to', 'return-path', 'received'],
  ...['mime-version', 'dkim-signature', 'domainkey-signature', 'feedback-id', 'authentication-results'],
  ...['arc-seal', 'arc-message-signature', 'arc-authentication-results', 'delivered-to', 'apparently-to'],
  ...['resent-from', 'resent-to', 'resent-cc', 'resent-bcc', 'resent-date', 'resent-sender', 'resent-message-id'],
  ...['errors-to', 'return-receipt-to'],
]);

/** Custom headers. CR and LF never pass, so a value cannot become a second header. */
export function readHeaders(reader: FieldReader, value: unknown): Record<string, string> {
  if (value === undefined) return {};
  const given = reader.object(value, 'headers');
  if (!given) return {};
  const names = Object.keys(given);
  if (names.length > MAX_HEADERS) {
    reader.add('headers', `must contain at most ${MAX_HEADERS} headers`);
    return {};
  }
  const seen = new Set<string>();
  const headers: Record<string, string> = {};
  for (const name of names) {
    const problem = headerProblem(name, given[name], seen);
    if (problem) reader.add(`headers.${name.slice(0, 76)}`, problem);
    else headers[name] = given[name] as string;
    seen.add(name.toLowerCase());
  }
  return headers;
}

function headerProblem(name: string, value: unknown, seen: ReadonlySet<string>): string | undefined {
  const key = name.toLowerCase();
  if (!HEADER_NAME.test(name)) return 'is not a header name (printable ASCII without colon, at most 76 characters)';
  if (RESERVED.has(key) || key.startsWith('content-')) return 'is set by the service';
  if (seen.has(key)) return 'is given twice';
  if (typeof value !== 'string') return 'must be a string';
  if (value.length > MAX_VALUE) return `must be at most ${MAX_VALUE} characters long`;
  if (CONTROL.test(value)) return 'must not contain line breaks or control characters';
  return undefined;
}
