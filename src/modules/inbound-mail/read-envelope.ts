import { addressKey } from '../../common/mail-address';
import { type HeaderFields, readMessageHeader } from '../../common/mime/mime-message';
import { decodeField } from '../../common/mime/part-text';
import { cutText } from '../../common/values';
import { INDEXED_ADDRESSES, type InboundEmailData } from './inbound-email';
import { addressesIn, namedAddresses } from './named-addresses';

const HEADER_BYTES = 256 * 1024;
const MAX_SUBJECT = 998;
const MAX_LINE = 1_000;
const MAX_ENTRIES = 200;
const MAX_REFERENCES = 100;
const MESSAGE_ID = /<[^<>\s]{1,500}>/g;
const CONTROLS = /[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]/g;

/** Header data of a message, for display: not trustworthy. */
export type ShownHeader = Omit<InboundEmailData, 'marks' | 'authentication'>;

/** The header fields within the first bytes of a message. */
export function readFields(message: Buffer): HeaderFields {
  return readMessageHeader(message.toString('latin1', 0, HEADER_BYTES)).fields;
}

/** The decoded fields that lists and events show. */
export function showHeader(fields: HeaderFields): ShownHeader {
  const [inReplyTo] = idsIn(fields.first('in-reply-to'));
  return {
    from: line(fields.first('from')),
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
  const [address = ''] = addressesIn(decodeField(fields.first('from') ?? ''));
  return address;
}

/** The addresses in envelope and header, in lower case, each once; no more of them than are indexed. */
export async function indexedAddresses(message: Buffer, envelope: readonly string[]): Promise<string[]> {
  const named = envelope.flatMap((address) => [addressKey(address), ...addressesIn(address)]);
  const found = new Set(named.filter((address) => address !== ''));
  for await (const address of namedAddresses(message)) {
    if (found.size >= INDEXED_ADDRESSES) break;
    found.add(address);
  }
  return [...found];
}

/** One for each mailbox, as it is written. */
function entries(values: readonly string[]): string[] {
  return values
    .flatMap(mailboxesIn)
    .map(line)
    .filter((entry) => entry !== '')
    .slice(0, MAX_ENTRIES);
}

/** What holds no separator: a quoted string, a comment with one level of others in it, what is in brackets; or one sign. */
const TOKENS =
  /"(?:[^"\\]|\\.){0,1000}"|\((?:[^()\\]|\\.|\((?:[^()\\]|\\.){0,500}\)){0,1000}\)|<[^<>,;]{0,1000}>|\[[^[\]]{0,100}\]|[^]/g;

/** The mailboxes of a list; of a group (RFC 5322 section 3.4) its members. */
function mailboxesIn(list: string): string[] {
  const found = [''];
  for (const [token] of list.matchAll(TOKENS)) {
    if (token === ',' || token === ';') found.push('');
    // The name of a group.
    else if (token === ':') found[found.length - 1] = '';
    else found[found.length - 1] += token;
  }
  return found;
}

function idsIn(value = ''): string[] {
  return [...value.matchAll(MESSAGE_ID)].slice(0, MAX_REFERENCES).map(([id]) => storable(id));
}

function line(value = ''): string {
  return cutText(storable(decodeField(value)).trim(), MAX_LINE);
}

/** JSON of Postgres takes neither NUL nor halves of surrogate pairs. */
function storable(text: string): string {
  return text.replace(CONTROLS, ' ').replace(/\p{Cs}/gu, '\ufffd');
}
