import { domainOf, type Mailbox } from '../../../../common/mail-address';
import { type FieldRange, type ParsedHeader, parseHeader } from '../../../../common/mime/header-fields';
import { oneMailboxOf, replyToOf, shownIn, subjectOf, valueOf } from './raw-header';

export const MAX_RAW_BYTES = 25 * 1024 * 1024;
const MAX_HEADER_BYTES = 256 * 1024;
/** Limit of header fields: fifty thousand, which the size limit allows, take tens of milliseconds per pass. */
const MAX_FIELDS = 2_000;
/** Received fields beyond which a message is taken to be in a loop (RFC 5321 section 6.3: at least 100). */
const MAX_HOPS = 100;
const NO_HEADER = `has no header of fields with CRLF line ends, of at most ${MAX_HEADER_BYTES} bytes and ${MAX_FIELDS} fields`;
const HEADER_END = '\r\n\r\n';
/** RFC 5322 section 2.2. A From with a blank before its colon would not be found here, but shown by mail programs. */
const FIELD_NAME = /^[!-9;-~]+$/;
/** Removed fields; a resent message may have blind recipients of its own (RFC 5322 section 3.6.6). */
const REMOVED: ReadonlySet<string> = new Set(['bcc', 'resent-bcc', 'return-path']);
/** Prefix of fields for this service, which are read and removed. */
const OWN_PREFIX = 'x-waybill-';

/** A message as submitted, and its parsed header. */
export interface RawMessage {
  /** The message to send, except missing Date and Message-ID fields. It shares the memory of the submitted bytes. */
  readonly bytes: Buffer;
  readonly from: Mailbox;
  readonly subject: string;
  readonly to: ReadonlySet<string>;
  readonly cc: ReadonlySet<string>;
  readonly replyTo: readonly Mailbox[];
  /** The values of the fields `X-Waybill-…`, by the rest of their names in lower case. */
  readonly own: ReadonlyMap<string, readonly string[]>;
}

/** `sender`: the From is not one mailbox in one field. `form`: not a valid message, or one that must not be sent. */
export interface RawFault {
  readonly fault: 'sender' | 'form';
  /** The problem as the end of a sentence, after the name of the input. */
  readonly message: string;
}

/**
 * Parses a message with CRLF line ends, and removes in place the fields that must not be sent: Bcc, Resent-Bcc, Return-Path, the Sender of
 * another domain, and the fields for this service. Everything else stays as it is.
 * @param given is modified and becomes part of the result
 */
export function readRawMessage(given: Buffer): RawMessage | RawFault {
  const whole = withHeaderEnd(given);
  const header = whole && tryParse(whole);
  if (!header) return form(NO_HEADER);
  const { fields } = header;
  if (![...fields.keys()].every((name) => FIELD_NAME.test(name))) return form('has a header line that is no field');
  // Some servers drop it, others end a line there: then no signature holds (RFC 5322 section 2.3, RFC 2045 section 2.8).
  if (whole.includes(0)) return form('has a NUL character, which only an encoding such as base64 may carry');
  if ((fields.get('received')?.length ?? 0) > MAX_HOPS) return form('has been going round in a circle');
  const from = oneMailboxOf(header, 'from');
  if (!from) return { fault: 'sender', message: 'must have exactly one From field with exactly one address' };
  const message = {
    ...{ from, subject: subjectOf(header), replyTo: replyToOf(header) },
    ...{ to: shownIn(header, 'to'), cc: shownIn(header, 'cc'), own: ownFields(header) },
  };
  return { ...message, bytes: withoutFields(header, from) };
}

/** Whether a raw message was refused. */
export function isFault(read: RawMessage | RawFault): read is RawFault {
  return 'fault' in read;
}

function form(message: string): RawFault {
  return { fault: 'form', message };
}

/** Adds the empty line to a message that consists of a header only. Undefined when the header is too long. */
function withHeaderEnd(given: Buffer): Buffer | undefined {
  const start = given.subarray(0, MAX_HEADER_BYTES);
  if (start.includes(HEADER_END)) return given;
  if (given.length > MAX_HEADER_BYTES) return undefined;
  const ending = given.subarray(-2).equals(Buffer.from('\r\n')) ? '\r\n' : HEADER_END;
  return Buffer.concat([given, Buffer.from(ending)]);
}

function tryParse(bytes: Buffer): ParsedHeader | undefined {
  try {
    return parseHeader(bytes, MAX_FIELDS);
  } catch {
    return undefined;
  }
}

function ownFields(header: ParsedHeader): RawMessage['own'] {
  const own = new Map<string, string[]>();
  for (const [name, fields] of header.fields) {
    if (!name.startsWith(OWN_PREFIX)) continue;
    const values = fields.map((field) => valueOf(header, field));
    own.set(name.slice(OWN_PREFIX.length), values);
  }
  return own;
}

function isRemoved(name: string): boolean {
  return REMOVED.has(name) || name.startsWith(OWN_PREFIX);
}

/** Fields that are added where they are missing: without a value they are, too (RFC 5322 section 3.6 demands one). */
const ADDED: ReadonlySet<string> = new Set(['date', 'message-id']);

function isEmptyOne(header: ParsedHeader, name: string, fields: readonly FieldRange[]): boolean {
  return ADDED.has(name) && fields.every((field) => valueOf(header, field) === '');
}

/** Mail programs show a Sender beside the author ("on behalf of"), whose domain alone is known to be the organization's. */
function isForeign(header: ParsedHeader, name: string, from: Mailbox): boolean {
  if (name !== 'sender') return false;
  const sender = oneMailboxOf(header, 'sender');
  return sender === undefined || domainOf(sender.email) !== domainOf(from.email);
}

/** Moves the remaining header fields up to the body, so that a large message is not copied. */
function withoutFields(header: ParsedHeader, from: Mailbox): Buffer {
  const { bytes, fields, bodyStart } = header;
  const removed = [...fields]
    .filter(([name, ranges]) => isRemoved(name) || isEmptyOne(header, name, ranges) || isForeign(header, name, from))
    .flatMap(([, ranges]): readonly FieldRange[] => ranges)
    .sort((one, other) => other.start - one.start);
  let start = bodyStart;
  let keptTo = bodyStart;
  for (const field of removed) {
    const next = field.end + 2;
    start -= keptTo - next;
    bytes.copyWithin(start, next, keptTo);
    keptTo = field.start;
  }
  if (removed.length === 0) return bytes;
  start -= keptTo;
  bytes.copyWithin(start, 0, keptTo);
  return bytes.subarray(start);
}

/**
 * A message with one more field.
 * @param message what `readRawMessage` has returned of `given`, before which memory for the field is free
 */
export function withFieldBefore(message: Buffer, field: Buffer, given: Buffer): Buffer {
  const { buffer, byteOffset, length } = message;
  // The header alone was copied, to memory that others use.
  if (buffer !== given.buffer) return Buffer.concat([field, message]);
  const whole = Buffer.from(buffer, byteOffset - field.length, field.length + length);
  field.copy(whole);
  return whole;
}
