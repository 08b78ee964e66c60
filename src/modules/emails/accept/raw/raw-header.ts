import { isUtf8 } from 'node:buffer';
import PostalMime from 'postal-mime';
import { personKey } from '../../../../common/address-forms';
import { type Mailbox, parseAddress, parseMailbox } from '../../../../common/mail-address';
import type { FieldRange, ParsedHeader } from '../../../../common/mime/header-fields';

/** Longer fields are read up to this length. */
const MAX_FIELD_BYTES = 32 * 1024;
/** Longer subjects are cut for the database and lists. */
const MAX_SUBJECT = 998;
const MAX_REPLY_TO = 10;
const CONTROLS = /[\x00-\x1f\x7f-\x9f]+/g;

/** A field's value, unfolded; non-ASCII bytes are decoded as UTF-8 where valid (RFC 6532). */
export function valueOf({ bytes }: ParsedHeader, { colon, end }: FieldRange): string {
  const value = bytes.subarray(colon + 1, Math.min(end, colon + 1 + MAX_FIELD_BYTES));
  return value
    .toString(isUtf8(value) ? 'utf8' : 'latin1')
    .replace(/\r\n(?=[ \t])/g, '')
    .trim();
}

/** The decoded subject, the first of several; empty when there is none. */
export function subjectOf(header: ParsedHeader): string {
  const [field] = header.fields.get('subject') ?? [];
  if (field === undefined) return '';
  const decoded = PostalMime.decodeWords(valueOf(header, field)).replace(CONTROLS, ' ').trim();
  return [...decoded.slice(0, 2 * MAX_SUBJECT)].slice(0, MAX_SUBJECT).join('');
}

/**
 * The mailbox of the From or Sender field; undefined unless there is exactly one field with exactly one mailbox. Strict on purpose: the
 * author is authorized by this address, and every mail program must show the same one.
 */
export function oneMailboxOf(header: ParsedHeader, name: 'from' | 'sender'): Mailbox | undefined {
  const fields = header.fields.get(name) ?? [];
  const [field] = fields;
  if (field === undefined || fields.length > 1 || field.end - field.colon > MAX_FIELD_BYTES) return undefined;
  const parsed = parseMailbox(withoutComments(valueOf(header, field)));
  if (!parsed.ok) return undefined;
  const shown = PostalMime.decodeWords(parsed.mailbox.name ?? '')
    .replace(CONTROLS, ' ')
    .trim();
  return shown === '' ? { email: parsed.mailbox.email } : { email: parsed.mailbox.email, name: shown };
}

/** Outside comments: quoted strings, escaped characters, and single characters. Inside, a quote has no meaning (RFC 5322 section 3.2.2). */
const TOKEN = /"(?:\\.|[^"\\])*"|\\.|[^]/gsy;
/** Programs disagree on where a comment with one of these ends, and show an address from it. */
const AMBIGUOUS_IN_COMMENT = /[<>\\@]/;

/**
 * Replaces comments (RFC 5322 section 3.2.2) by a space, as in `root@host (Cron Daemon)`: programs disagree on what one within an address
 * joins, so that `a@b.example(c).other.example` is no mailbox. With unbalanced parentheses, or a comment that programs read differently,
 * the value stays as it is, and is no mailbox either.
 */
function withoutComments(value: string): string {
  let kept = '';
  let at = 0;
  while (at < value.length) {
    if (value[at] === '(') {
      const end = endOfComment(value, at);
      if (end === undefined || AMBIGUOUS_IN_COMMENT.test(value.slice(at, end))) return value;
      kept += ' ';
      at = end;
    } else {
      TOKEN.lastIndex = at;
      kept += TOKEN.exec(value)?.[0] ?? '';
      at = TOKEN.lastIndex;
    }
  }
  return kept.trim();
}

/** After the parenthesis that closes the one at `start`. */
function endOfComment(value: string, start: number): number | undefined {
  let depth = 0;
  for (let at = start; at < value.length; at += 1) {
    if (value[at] === '(') depth += 1;
    else if (value[at] === ')') depth -= 1;
    if (depth === 0) return at + 1;
  }
  return undefined;
}

/** The addresses in fields of this name, in the form in which they are compared. */
export function shownIn(header: ParsedHeader, name: 'to' | 'cc'): ReadonlySet<string> {
  return new Set(mailboxesOf(header, name).map(({ email }) => personKey(email)));
}

/** The addresses of Reply-To, up to the maximum of an email. */
export function replyToOf(header: ParsedHeader): Mailbox[] {
  return mailboxesOf(header, 'reply-to').slice(0, MAX_REPLY_TO);
}

/** Parses mailboxes leniently: they are only used for display. */
function mailboxesOf(header: ParsedHeader, name: string): Mailbox[] {
  const fields = header.fields.get(name) ?? [];
  return fields
    .slice(0, 1)
    .flatMap((field) => PostalMime.addressParser(beginningOf(valueOf(header, field)), { flatten: true }))
    .flatMap(({ address = '', name: shown }) => {
      const parsed = parseAddress(address);
      if (!parsed.ok) return [];
      const clean = shown.replace(CONTROLS, ' ').trim();
      return [clean === '' ? { email: parsed.email } : { email: parsed.email, name: clean }];
    });
}

/** Separators of an address list. Lists are cut, since thirty thousand addresses, which fit into three fields, took 80 ms. */
const SEPARATORS = /[,;:]/g;
const MAX_SEPARATORS = 1_000;

/** The start of a list, up to a thousand addresses. */
function beginningOf(list: string): string {
  SEPARATORS.lastIndex = 0;
  for (let count = 0; count < MAX_SEPARATORS; count += 1) if (!SEPARATORS.test(list)) return list;
  return list.slice(0, SEPARATORS.lastIndex);
}
