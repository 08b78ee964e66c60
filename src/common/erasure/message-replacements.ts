import { mailboxPlacesIn } from '../mime/address-field';
import { type Occurrence, withReplaced } from './encoded-runs';

/** Replaces an address within a text. */
export const REPLACEMENT = '[erased]';

/** Replaces an address where the syntax asks for one (RFC 2606 section 2). */
const ADDRESS = 'erased@erased.invalid';

/** Replaces a name: an address in it would need quotes. */
const NAME = 'erased';

/** Fields of addresses (RFC 5322 section 3.6): with a text in its place the message is invalid, and servers refuse it for everybody. */
const ADDRESS_FIELDS: ReadonlySet<string> = new Set(['from', 'to', 'cc', 'reply-to', 'sender']);

const FIELD = /^([!-9;-~]+)[ \t]*:/gm;

/**
 * A raw message without an address where it was found. A field of addresses stays one, and loses the name beside the address.
 * @param domain of the address; that of a sender belongs to the customer and stays, as DMARC compares it
 */
export function withoutAddress(message: string, found: readonly Occurrence[], domain: string): string {
  const sorted = found.toSorted((one, other) => one.start - other.start);
  const replacements = new Map<number, string>();
  let places: Occurrence[] = [];
  let next = 0;
  const takeBefore = (position: number): Occurrence[] => {
    const first = next;
    while ((sorted[next]?.start ?? Infinity) < position) next += 1;
    return sorted.slice(first, next);
  };
  for (const { name, start, end } of addressFieldsOf(message)) {
    const before = takeBefore(start);
    const within = takeBefore(end);
    const address = name === 'from' ? `erased@${domain}` : ADDRESS;
    const mailboxes = within.length === 0 ? [] : mailboxesWith(within, message.slice(start, end), start);
    for (const place of mailboxes) replacements.set(place.start, place.isName ? NAME : address);
    places = places.concat(before, mailboxes);
  }
  return withReplaced(message, places.concat(takeBefore(Infinity)), (start) => replacements.get(start) ?? REPLACEMENT);
}

/** The fields of addresses in the header: names in lower case, and where their values are. */
function* addressFieldsOf(message: string): Generator<{ name: string; start: number; end: number }> {
  const headerEnd = message.search(/(?:^|\n)\r?\n/);
  const header = headerEnd < 0 ? message : message.slice(0, headerEnd);
  let field: { name: string; start: number } | undefined;
  for (const { 0: opening, 1: given = '', index } of header.matchAll(FIELD)) {
    if (field) yield { ...field, end: index };
    const name = given.toLowerCase();
    field = ADDRESS_FIELDS.has(name.replace(/^resent-/, '')) ? { name, start: index + opening.length } : undefined;
  }
  if (field) yield { ...field, end: header.length };
}

interface Place extends Occurrence {
  /** Of another address: an encoded word can be nothing else (RFC 2047 section 5). */
  readonly isName: boolean;
}

/** The mailboxes of a field that have the address, without the blanks around them; the address alone where one has another as well. */
function mailboxesWith(found: readonly Occurrence[], value: string, valueStart: number): Place[] {
  const places: Place[] = [];
  let next = 0;
  for (const { start, end } of mailboxPlacesIn(value)) {
    const first = next;
    while ((found[next]?.start ?? Infinity) < valueStart + end) next += 1;
    const own = found.slice(first, next);
    if (own.length === 0) continue;
    const mailbox = value.slice(start, end);
    const from = valueStart + start;
    const within = own.map((each) => ({ start: Math.max(0, each.start - from), end: each.end - from }));
    const isOther = withReplaced(mailbox, within, '').includes('@');
    const all = { start: from + mailbox.length - mailbox.trimStart().length, end: from + mailbox.trimEnd().length };
    const isName = ({ start: at }: Occurrence): boolean => value.startsWith('=?', at - valueStart);
    if (!isOther) places.push({ ...all, isName: false });
    else for (const each of own) places.push({ ...each, isName: isName(each) });
  }
  return places;
}
