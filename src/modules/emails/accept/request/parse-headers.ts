import { cutText } from '../../../../common/values';
import { CONTROL_CHARACTER, type FieldReader } from './field-reader';

const MAX_HEADERS = 50;
const MAX_VALUE = 998;
const MAX_NAME = 76;
/** RFC 5322 section 3.6.8: printable US-ASCII without the colon; the length leaves room for a value on a 78-octet line. */
const HEADER_NAME = /^[!-9;-~]{1,76}$/;

/** Header fields that the service sets itself, or that would change how the mail is interpreted or routed. */
const RESERVED = new Set([
  ...['from', 'to', 'cc', 'bcc', 'subject', 'date', 'message-id', 'sender', 'reply-to', 'return-path', 'received'],
  ...['mime-version', 'dkim-signature', 'domainkey-signature', 'feedback-id', 'authentication-results'],
  ...['arc-seal', 'arc-message-signature', 'arc-authentication-results', 'delivered-to', 'apparently-to'],
  ...['resent-from', 'resent-to', 'resent-cc', 'resent-bcc', 'resent-date', 'resent-sender', 'resent-message-id'],
  ...['errors-to', 'return-receipt-to'],
]);

/** Fields of addresses, ids and URLs, in which no encoded word may stand (RFC 2047 section 5): receivers would not understand them. */
const STRUCTURED = /^(?:list-.*|in-reply-to|references|disposition-notification-to)$/;

/** Reads custom headers. CR and LF are refused, so a value cannot become a second header field. */
export function readHeaders(reader: FieldReader, value: unknown): Record<string, string> {
  const given = value === undefined ? undefined : reader.object(value, 'headers');
  if (!given) return {};
  const names = Object.keys(given);
  if (names.length > MAX_HEADERS) {
    reader.add('headers', `must contain at most ${MAX_HEADERS} headers`);
    return {};
  }
  const seen = new Set<string>();
  const headers: Record<string, string> = {};
  for (const name of names) {
    // A name may have a megabyte: only its start is examined, since longer names are refused anyway.
    const start = cutText(name, MAX_NAME + 1);
    const problem = headerProblem(start, given[name], seen);
    if (problem) reader.add(`headers.${cutText(name, MAX_NAME)}`, problem);
    else headers[name] = given[name] as string;
    seen.add(start.toLowerCase());
  }
  return headers;
}

function headerProblem(name: string, value: unknown, seen: ReadonlySet<string>): string | undefined {
  const key = name.toLowerCase();
  if (!HEADER_NAME.test(name)) return 'is not a header name (printable ASCII without colon, at most 76 characters)';
  if (RESERVED.has(key) || key.startsWith('content-')) return 'is set by the service';
  if (key.startsWith('x-waybill-')) return 'is for SMTP and raw messages: use the field of the request, such as tags';
  if (seen.has(key)) return 'is given twice';
  return valueProblem(key, value);
}

function valueProblem(key: string, value: unknown): string | undefined {
  if (typeof value !== 'string') return 'must be a string';
  if (value.length > MAX_VALUE) return `must be at most ${MAX_VALUE} characters long`;
  if (CONTROL_CHARACTER.test(value)) return 'must not contain line breaks or control characters';
  if (STRUCTURED.test(key) && /[^ -~\t]/.test(value)) return 'must be ASCII: hosts as xn--…, all else in URLs as %…';
  return undefined;
}
