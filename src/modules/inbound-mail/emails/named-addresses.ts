import { EVENT_LOOP } from '../../../common/async/fair-turns';
import { addressKey, parseAddress } from '../../../common/mail-address';
import { decodeField } from '../../../common/mime/part-text';

/** A header is in the first stored part of its message as a whole; real ones have 24 KiB at most. */
export const MAX_HEADER_BYTES = 1024 * 1024;

/** RFC 5322 sections 3.6.2, 3.6.3, 3.6.6 and 3.6.7, and where servers write the envelope's recipient. */
const FIELDS: ReadonlySet<string> = new Set([
  ...['from', 'sender', 'reply-to', 'to', 'cc', 'bcc', 'return-path', 'received'],
  ...['resent-from', 'resent-sender', 'resent-reply-to', 'resent-to', 'resent-cc', 'resent-bcc'],
  ...['delivered-to', 'x-original-to', 'envelope-to', 'x-envelope-to', 'apparently-to', 'x-forwarded-to'],
  ...['x-forwarded-for', 'disposition-notification-to', 'return-receipt-to', 'errors-to', 'mail-followup-to'],
]);
const NAME = /^([!-9;-~]{1,100})[ \t]{0,20}:/;
const FOLDED = /^[ \t]/;
/** A line of white space may be in the middle of a header: what is found behind it is no harm. */
const EMPTY_LINE = /^\r?$/;
const HEADER_END = /\n[ \t\r]*\n/;

/** Characters searched in one turn of the event loop: some milliseconds. Turns are shared with all other mail. */
const PIECE = 8 * 1024;
/** Longer than an address, and than most encoded words. */
const OVERLAP = 1024;
const SEPARATORS = /[\s,;<>][^\s,;<>]*$/;

const MAX_LOCAL_PART = 64;
const MAX_DOMAIN = 253;
/** The text before an @; RFC 5322 section 3.2.4 allows quotes around a local part that needs none. */
const LOCAL_PART = /(?:"([^\s<>(),;:"@[\]\\]{1,64})"|([^\s<>(),;:"@[\]]{1,64}))$/;
/** A sentence's end, or a quote's. */
const SIGNS_AFTER = /[^\p{L}\p{N}]{1,10}$/u;
const DOMAIN = /^[^\s<>(),;:"@[\]]{1,253}/;

/** Whether the header ends where its message may have it end. */
export function hasBoundedHeader(message: Buffer): boolean {
  if (message.length <= MAX_HEADER_BYTES) return true;
  return HEADER_END.test(`\n${message.toString('latin1', 0, MAX_HEADER_BYTES)}`);
}

/**
 * All addresses in the header fields that name people, in the form in which addresses are matched, some more than once. However
 * many and long the fields are, the event loop gets its turn.
 * @param message its first MiB is enough
 * @param holder in whose turns
 */
export async function* namedAddresses(message: Buffer, holder = ''): AsyncGenerator<string> {
  let done = 0;
  for (const { value, end } of namingFields(message.toString('latin1', 0, MAX_HEADER_BYTES))) {
    for (const piece of piecesOf(value)) {
      yield* addressesIn(decodeField(piece));
      if (piece.length >= PIECE - OVERLAP) await EVENT_LOOP.next(holder);
    }
    if (end - done < PIECE) continue;
    done = end;
    await EVENT_LOOP.next(holder);
  }
}

/** In lower case, as they come, each once. */
export function* addressesIn(text: string): Generator<string> {
  const seen = new Set<string>();
  for (let at = text.indexOf('@'); at !== -1; at = text.indexOf('@', at + 1)) {
    for (const localPart of localPartsIn(text.slice(Math.max(0, at - MAX_LOCAL_PART - 2), at))) {
      const [domain = ''] = DOMAIN.exec(text.slice(at + 1, at + 1 + MAX_DOMAIN)) ?? [];
      const written = `${localPart}@${domain.replace(SIGNS_AFTER, '')}`;
      // Compared as it is written first: to read one takes some microseconds.
      const parsed = seen.has(written) ? undefined : parseAddress(written);
      seen.add(written);
      if (parsed?.ok) yield addressKey(parsed.email);
    }
  }
}

/** The possible local part at the end of a text; a quote before it may belong to it or not. */
function localPartsIn(before: string): string[] {
  const [, quoted, plain = ''] = LOCAL_PART.exec(before) ?? [];
  if (quoted !== undefined) return [quoted];
  return plain.startsWith("'") ? [plain, plain.slice(1)] : [plain];
}

interface NamingField {
  /** Unfolded, one character a byte; empty of a line without addresses. */
  readonly value: string;
  /** So much of the header has been read. */
  readonly end: number;
}

/** In their order. */
function* namingFields(header: string): Generator<NamingField> {
  let value: string[] | undefined;
  let end = 0;
  for (const line of linesOf(header)) {
    end += line.length + 1;
    if (value && FOLDED.test(line)) {
      value.push(line);
      continue;
    }
    yield { value: value?.join(' ') ?? '', end };
    value = valueOf(line);
  }
  yield { value: value?.join(' ') ?? '', end };
}

/** Up to the empty one. */
function* linesOf(header: string): Generator<string> {
  for (let at = 0; at < header.length;) {
    const next = header.indexOf('\n', at);
    const line = header.slice(at, next === -1 ? header.length : next);
    if (EMPTY_LINE.test(line)) return;
    yield line;
    at += line.length + 1;
  }
}

/** Of a field that names people; undefined of any other line. */
function valueOf(line: string): string[] | undefined {
  const [start = '', name = ''] = NAME.exec(line) ?? [];
  return FIELDS.has(name.toLowerCase()) ? [line.slice(start.length)] : undefined;
}

/** Cut where no address is. */
function* piecesOf(field: string): Generator<string> {
  for (let at = 0; at < field.length;) {
    const piece = field.slice(at, at + PIECE);
    const isLast = at + PIECE >= field.length;
    const kept = isLast ? -1 : piece.slice(-OVERLAP).search(SEPARATORS);
    const end = kept === -1 ? piece.length : piece.length - OVERLAP + kept + 1;
    yield piece.slice(0, end);
    at += end;
  }
}
