import { domainToASCII } from 'node:url';
import { addressKey, domainOf } from '../../../common/mail-address';
import { type HeaderFields, MIME_LIMITS, readMessageHeader } from '../../../common/mime/mime-message';
import { addressPartOf, decodeAddressField, isSingle, mailboxesIn } from '../../../common/mime/address-field';
import { decodeCharset, decodeField } from '../../../common/mime/part-text';
import { cutText } from '../../../common/values';
import type { MethodResult } from '../authentication/authentication';
import { INDEXED_ADDRESSES, type InboundEmailData } from './inbound-email';
import { addressesIn, namedAddresses } from './named-addresses';

const HEADER_BYTES = 256 * 1024;
const MAX_SUBJECT = 998;
const MAX_LINE = 1_000;
const MAX_ENTRIES = 200;
/** Of one name; RFC 5322 section 3.6 allows one. Reading a long one takes a millisecond. */
const MAX_FIELDS = 10;
const MAX_REFERENCES = 100;
const MESSAGE_ID = /<[^<>\s]{1,500}>/g;
const CONTROLS = /[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]/g;

/** Header data of a message, for display: not trustworthy. */
export type ShownHeader = Omit<InboundEmailData, 'marks' | 'authentication'>;

/** The header fields within the first bytes of a message. */
export function readFields(message: Buffer): HeaderFields {
  return readMessageHeader(message.toString('latin1', 0, HEADER_BYTES), MIME_LIMITS.shownHeaderLines).fields;
}

/** The decoded fields that lists and events show. */
export function showHeader(fields: HeaderFields): ShownHeader {
  const [inReplyTo] = idsIn(fields.first('in-reply-to'));
  return {
    from: mailbox(fields.first('from')),
    to: entries(fields.all('to')),
    cc: entries(fields.all('cc')),
    subject: cutText(line(fields.first('subject')), MAX_SUBJECT),
    messageId: idsIn(fields.first('message-id'))[0] ?? null,
    ...(inReplyTo !== undefined && { inReplyTo }),
    references: idsIn(fields.first('references')),
  };
}

/** The address that wrote it, in lower case; empty when there is none. */
export function fromAddressOf(fields: HeaderFields): string {
  const [author = ''] = mailboxesIn(decodeCharset(fields.first('from') ?? '', undefined));
  const [address = ''] = addressesIn(addressPartOf(author));
  return address;
}

/**
 * A DMARC result, or `none` when it is not about the author that is shown: there is exactly one (RFC 7489 section 6.6.1), and its
 * address is of the result's domain. The library reads the whole field; here it is bounded, and what lies beyond may be another
 * address.
 * @param dmarc its domain is the registrable one in ASCII; absent when the result is about none
 */
export function ofAuthor(fields: HeaderFields, dmarc: MethodResult): MethodResult {
  const mailboxes = firstMailboxes(fields.all('from'), 2);
  const address = fromAddressOf(fields);
  const above = dmarc.domain ? `.${dmarc.domain.toLowerCase()}` : '';
  const isShown = address === '' || `.${domainToASCII(domainOf(address))}`.endsWith(above);
  return mailboxes.length === 1 && mailboxes.every(isSingle) && isShown ? dmarc : { result: 'none' };
}

/**
 * The addresses in envelope and header, in lower case, each once; no more of them than are indexed.
 * @param holder in whose turns of the event loop they are looked for
 */
export async function indexedAddresses(message: Buffer, envelope: readonly string[], holder = ''): Promise<string[]> {
  const named = envelope.flatMap((address) => [addressKey(address), ...addressesIn(address)]);
  const found = new Set(named.filter((address) => address !== ''));
  for await (const address of namedAddresses(message, holder)) {
    if (found.size >= INDEXED_ADDRESSES) break;
    found.add(address);
  }
  return [...found];
}

/** One for each mailbox, as it is written. */
function entries(values: readonly string[]): string[] {
  return firstMailboxes(values, MAX_ENTRIES)
    .map(mailbox)
    .filter((entry) => entry !== '');
}

/** No more than are wanted are looked for: fields of commas name a hundred thousand, half a second of the process's time. */
function firstMailboxes(values: readonly string[], most: number): string[] {
  const found: string[] = [];
  for (const value of values.slice(0, MAX_FIELDS)) {
    for (const written of mailboxesIn(value)) {
      if (found.length === most) return found;
      if (written.trim() !== '') found.push(written);
    }
  }
  return found;
}

function idsIn(value = ''): string[] {
  return [...value.matchAll(MESSAGE_ID)].slice(0, MAX_REFERENCES).map(([id]) => storable(id));
}

function line(value = ''): string {
  return cutText(storable(decodeField(value)).trim(), MAX_LINE);
}

function mailbox(value = ''): string {
  return cutText(storable(decodeAddressField(value)).trim(), MAX_LINE);
}

/** JSON of Postgres takes neither NUL nor halves of surrogate pairs. */
function storable(text: string): string {
  return text.replace(CONTROLS, ' ').replace(/\p{Cs}/gu, '\ufffd');
}
