import { isAscii } from 'node:buffer';
import { needsSmtpUtf8 } from '../../common/mail-address';
import { quotedLocalPartsIn, withoutNames } from '../../common/mime/address-field';
import { type FieldRange, parseHeader } from '../../common/mime/header-fields';
import { signatureOf, type SignOptions } from '../dkim/sign-message';
import type { OutgoingMessage, SigningKey } from '../ports/sources';
import { formatDate, messageId, plainField } from './header-field';

/** Room for what goes before a raw message: a signature, Date and Message-ID take about one kilobyte. */
export const RAW_ROOM = 4 * 1024;

/**
 * A raw message ready for the wire: as it came, with Date and Message-ID where it has none, signed. The same email gives the
 * same bytes every time. A large message is not copied, as there is room before it.
 *
 * @param buffer the message behind `room` free bytes
 */
export async function signRawMessage(
  buffer: Buffer,
  room: number,
  email: Pick<OutgoingMessage, 'emailId' | 'from' | 'date'>,
  key: SigningKey,
): Promise<Buffer> {
  const { fields } = parseHeader(buffer.subarray(room));
  const hasMessageId = fields.has('message-id');
  const missing = [
    fields.has('date') ? '' : plainField('Date', formatDate(email.date)),
    hasMessageId ? '' : plainField('Message-ID', messageId(email)),
  ].join('');
  const whole = putBefore(buffer, room, Buffer.from(missing, 'latin1'));
  const options: SignOptions = { signedAt: email.date, ...(hasMessageId && { identity: email.emailId }) };
  const signature = await signatureOf(whole.buffer.subarray(whole.room), key, options);
  const signed = putBefore(whole.buffer, whole.room, signature);
  return signed.buffer.subarray(signed.room);
}

function putBefore(buffer: Buffer, room: number, start: Buffer): { buffer: Buffer; room: number } {
  // Of a header with hundreds of equal fields the signature has as many names.
  if (start.length > room) return { buffer: Buffer.concat([start, buffer.subarray(room)]), room: 0 };
  start.copy(buffer, room - start.length);
  return { buffer, room: room - start.length };
}

const ADDRESS_FIELDS = ['from', 'sender', 'reply-to', 'to', 'cc'].flatMap((name) => [name, `resent-${name}`]);
/** A word of a field, and the bracket behind it: then the word is a name, not an address (RFC 5322 section 3.4). */
const WORD = /([^\s<>",;:()]+)([ \t\r\n]{0,10}<)?/g;
const MAX_FIELD = 32 * 1024;

/** What of SMTP a server must offer to be given a message as it is. */
export interface NeededExtensions {
  /** An address in the header has a non-ASCII local part (RFC 6531), in the first bytes of its field; other UTF-8 needs nothing. */
  readonly smtpUtf8: boolean;
  /** It has bytes over 0x7f (RFC 6152). */
  readonly eightBit: boolean;
}

/** Of a raw message. Takes linear time, whatever its fields hold: they are the sender's. */
export function extensionsNeededBy(message: Buffer): NeededExtensions {
  if (isAscii(message)) return { smtpUtf8: false, eightBit: false };
  const { fields } = parseHeader(message);
  const ranges = ADDRESS_FIELDS.flatMap((name) => fields.get(name) ?? []);
  return { smtpUtf8: ranges.some((range) => hasUtf8Address(message, range)), eightBit: true };
}

function hasUtf8Address(message: Buffer, { colon, end }: FieldRange): boolean {
  const value = message.toString('utf8', colon + 1, Math.min(end, colon + 1 + MAX_FIELD));
  if (!needsSmtpUtf8(value)) return false;
  if (quotedLocalPartsIn(value).some(needsSmtpUtf8)) return true;
  const words = withoutNames(value).matchAll(WORD);
  return [...words].some(([, word = '', bracket]) => bracket === undefined && isAddress(word) && needsSmtpUtf8(word));
}

/** Or what follows a quoted local part. */
function isAddress(word: string): boolean {
  return word.slice(0, -1).includes('@');
}
