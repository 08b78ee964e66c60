import { domainOf, type Mailbox, needsSmtpUtf8 } from '../../common/mail-address';
import type { OutgoingMessage } from '../ports/sources';

/** RFC 2047 section 2: a word has at most 75 characters, these 12 of them around the content. */
const MAX_WORD = 75;
const AROUND = '=?utf-8?Q??='.length;
/** Section 5 (3): what Q may leave as it is in a display name, which is the strictest place. */
const Q_LITERAL = /^[A-Za-z0-9!*+/-]$/;

interface WordEncoding {
  /** What a character adds to the measure of a word. */
  weigh(character: string): number;
  /** Characters of content that a measure comes to. */
  sizeOf(weight: number): number;
  encode(text: string): string;
}

const Q: WordEncoding = {
  weigh: (character) => (Q_LITERAL.test(character) || character === ' ' ? 1 : 3 * Buffer.byteLength(character)),
  sizeOf: (weight) => weight,
  encode: (text) => `=?utf-8?Q?${Array.from(text, encodeQ).join('')}?=`,
};

const B: WordEncoding = {
  weigh: (character) => Buffer.byteLength(character),
  sizeOf: (bytes) => Math.ceil(bytes / 3) * 4,
  encode: (text) => `=?utf-8?B?${Buffer.from(text).toString('base64')}?=`,
};

/**
 * Encodes text as encoded-words (RFC 2047) in UTF-8, in whichever of B and Q is shorter, never splitting a character.
 * Readers drop the white space between two words, so the caller may put any there.
 *
 * @param firstRoom characters that the first word may have, at most 75
 */
export function encodeWords(text: string, firstRoom: number): string[] {
  const encoding = shorterFor(text);
  const words: string[] = [];
  let room = Math.min(MAX_WORD, firstRoom) - AROUND;
  let content = '';
  let weight = 0;
  for (const character of text) {
    const added = encoding.weigh(character);
    if (content !== '' && encoding.sizeOf(weight + added) > room) {
      words.push(encoding.encode(content));
      room = MAX_WORD - AROUND;
      content = '';
      weight = 0;
    }
    content += character;
    weight += added;
  }
  words.push(encoding.encode(content));
  return words;
}

function shorterFor(text: string): WordEncoding {
  let weight = 0;
  for (const character of text) weight += Q.weigh(character);
  return weight <= B.sizeOf(Buffer.byteLength(text)) ? Q : B;
}

function encodeQ(character: string): string {
  if (Q_LITERAL.test(character)) return character;
  if (character === ' ') return '_';
  return Buffer.from(character).toString('hex').toUpperCase().replace(/../g, '=$&');
}

/** RFC 2047 section 2 limits lines with encoded-words to 76 characters; RFC 5322 section 2.1.1 recommends 78 for all. */
const LINE_WIDTH = 76;
/** RFC 5322 section 2.1.1: what a line may never exceed, less room for a space and a comma. */
const LONGEST_LINE = 998;
const LONGEST_RUN = LONGEST_LINE - 8;
/** Leaves room for `Reply-To: `, so that the first word of a name stays on the field's first line. */
const FIRST_NAME_WORD = 66;
const LONGEST_QUOTED_NAME = 60;
/** With less room than this a word goes to the next line. */
const SHORTEST_WORD = 30;

const FIELD_NAME = /^[!-9;-~]{1,255}$/;
const CONTROLS = /[\x00-\x1f\x7f-\x9f]/g;
/** A space that folding may turn into a line end: one on its own, so that no line of spaces only can arise. */
const FOLDABLE_SPACE = /(?<=[^ ]) (?=[^ ])/;
const PRINTABLE = /^[\x20-\x7e]*$/;
const PLAIN_NAME = /^[A-Za-z0-9]+(?: [A-Za-z0-9]+)*$/;

/**
 * A field that people read, such as Subject: arrives exactly as given, apart from controls, which become spaces. Encoded
 * unless it is plain text with words that fit a line.
 */
export function unstructuredField(name: string, value: string): string {
  const clean = value.replace(CONTROLS, ' ');
  if (clean === '') return emptyField(name);
  const words = clean.split(FOLDABLE_SPACE);
  const isPlain = PRINTABLE.test(clean) && clean.trim() === clean && !clean.includes('=?');
  if (isPlain && words.every((word) => word.length <= firstRoom(name))) return layOut(name, words);
  return encodedField(name, clean);
}

/**
 * A field of the customer or a feature: passed through and folded at its spaces, because its grammar is not known here.
 * Encoded only if it has non-ASCII characters or a run that no line can hold.
 * @throws TypeError when the name is not one of RFC 5322 section 2.2; such names are refused at acceptance
 */
export function customField(name: string, value: string): string {
  if (!FIELD_NAME.test(name)) throw new TypeError('Not a header field name');
  const clean = value.replace(CONTROLS, ' ').trim();
  if (clean === '') return emptyField(name);
  const words = clean.split(FOLDABLE_SPACE);
  if (PRINTABLE.test(clean) && words.every((word) => word.length < LONGEST_RUN)) return layOut(name, words);
  return encodedField(name, clean);
}

/** A field of mailboxes, such as To (RFC 5322 section 3.6.3). Local parts of SMTPUTF8 stay raw UTF-8 (RFC 6532). */
export function addressField(name: string, mailboxes: readonly Mailbox[]): string {
  const last = mailboxes.length - 1;
  return layOut(
    name,
    mailboxes.flatMap((mailbox, index) => mailboxWords(mailbox, index < last ? ',' : '')),
  );
}

/** A field whose value is one word of the service's own. */
export function plainField(name: string, value: string): string {
  return `${name}: ${value}\r\n`;
}

function mailboxWords({ name, email }: Mailbox, end: string): string[] {
  const clean = name?.replace(CONTROLS, ' ').trim() ?? '';
  if (clean === '') return [email + end];
  return [...phraseWords(clean), `<${email}>${end}`];
}

function phraseWords(name: string): string[] {
  const fits = name.length <= LONGEST_QUOTED_NAME && PRINTABLE.test(name) && !name.includes('=?');
  if (!fits) return encodeWords(name, FIRST_NAME_WORD);
  return [PLAIN_NAME.test(name) ? name : `"${name.replace(/["\\]/g, '\\$&')}"`];
}

function emptyField(name: string): string {
  return `${name}:\r\n`;
}

function encodedField(name: string, value: string): string {
  const room = firstRoom(name);
  return layOut(name, encodeWords(value, room < SHORTEST_WORD ? LINE_WIDTH : room), LINE_WIDTH);
}

/** What the first word may have beside `Name: `. */
function firstRoom(name: string): number {
  return LINE_WIDTH - name.length - 2;
}

/**
 * Sets words with one space or one fold between them. The first stays beside the name up to `firstWidth`, because some
 * readers take a first line with nothing but a name for an empty field.
 */
function layOut(name: string, words: readonly string[], firstWidth = LONGEST_LINE): string {
  let text = `${name}:`;
  let column = text.length;
  let width = firstWidth;
  for (const word of words) {
    const fits = column + 1 + word.length <= width;
    text += fits ? ` ${word}` : `\r\n ${word}`;
    column = (fits ? column : 0) + 1 + word.length;
    width = LINE_WIDTH;
  }
  return `${text}\r\n`;
}

/** Name and value of one more header field. */
export type HeaderField = readonly [name: string, value: string];

/**
 * The header of a message up to MIME-Version; what describes the content follows it. Blind recipients never get here.
 * Nothing in it depends on when or where it is composed.
 */
export function headerBlock(message: OutgoingMessage, extraHeaders: readonly HeaderField[]): string {
  const custom = [...Object.entries(message.headers), ...extraHeaders];
  return [
    addressField('From', [message.from]),
    message.to.length > 0 ? addressField('To', message.to) : '',
    message.cc.length > 0 ? addressField('Cc', message.cc) : '',
    message.replyTo.length > 0 ? addressField('Reply-To', message.replyTo) : '',
    unstructuredField('Subject', message.subject),
    plainField('Date', formatDate(message.date)),
    plainField('Message-ID', messageId(message)),
    ...custom.map(([name, value]) => customField(name, value)),
    plainField('MIME-Version', '1.0'),
  ].join('');
}

/** The Message-ID of an email, with its angle brackets: the same at every attempt, so that receivers can drop doubles. */
export function messageId(message: Pick<OutgoingMessage, 'emailId' | 'from'>): string {
  return `<${message.emailId}@${domainOf(message.from.email)}>`;
}

/** True when an address in the header has a non-ASCII local part: then every recipient's server needs SMTPUTF8. */
export function headerNeedsSmtpUtf8(message: Pick<OutgoingMessage, 'from' | 'to' | 'cc' | 'replyTo'>): boolean {
  const { from, to, cc, replyTo } = message;
  return [from, ...to, ...cc, ...replyTo].some((mailbox) => needsSmtpUtf8(mailbox.email));
}

/** RFC 5322 section 3.3, in UTC. */
export function formatDate(date: Date): string {
  return date.toUTCString().replace('GMT', '+0000');
}
