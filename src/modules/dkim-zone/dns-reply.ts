import { type Answer, encode, type OptAnswer } from 'dns-packet';
import {
  type DnsQuery,
  type Edns,
  HEADER_BYTES,
  type Question,
  type QueryHeader,
  type Rcode,
  RCODES,
} from './dns-query';

/** RFC 1035 section 4.2.1: what every client takes. */
const PLAIN_UDP_BYTES = 512;
/** Fits into every path without fragments (DNS flag day 2020). */
const MAX_UDP_BYTES = 1_232;

const RESPONSE_FLAG = 0x8000;
const AUTHORITATIVE_FLAG = 0x0400;
const TRUNCATED_FLAG = 0x0200;
const RECURSION_DESIRED_FLAG = 0x0100;
const DNSSEC_OK_FLAG = 0x8000;

type Data<A> = A extends Answer ? Omit<A, 'name'> : never;

/** A record whose owner is the queried name, or what is left of it without the first `skipLabels` labels. */
export interface OwnedRecord {
  readonly skipLabels: number;
  readonly data: Data<Answer>;
}

export interface Reply {
  readonly rcode: Rcode;
  readonly authoritative: boolean;
  readonly answers: readonly OwnedRecord[];
  readonly authorities: readonly OwnedRecord[];
}

/** The largest reply that the client takes over UDP (RFC 6891 section 6.2.3). */
export function udpLimitOf({ edns }: DnsQuery): number {
  return Math.min(MAX_UDP_BYTES, Math.max(PLAIN_UDP_BYTES, edns?.udpPayloadBytes ?? 0));
}

/** A header alone: for what cannot even be repeated. */
export function encodeFault(header: QueryHeader, rcode: Rcode): Buffer {
  return headerOf(header, RCODES[rcode], [0, 0, 0, 0]);
}

/** A reply that is longer than the limit goes out without records and with the truncation bit (RFC 2181 section 9). */
export function encodeReply(query: DnsQuery, reply: Reply, maximumBytes: number): Buffer {
  const whole = assemble(query, reply, 0);
  if (whole.length <= maximumBytes) return whole;
  return assemble(query, { ...reply, answers: [], authorities: [] }, TRUNCATED_FLAG);
}

function assemble({ header, question, edns }: DnsQuery, reply: Reply, truncated: number): Buffer {
  const { answers, authorities, authoritative } = reply;
  const flags = (RCODES[reply.rcode] & 15) | truncated | (authoritative ? AUTHORITATIVE_FLAG : 0);
  return Buffer.concat([
    headerOf(header, flags, [1, answers.length, authorities.length, edns ? 1 : 0]),
    question.bytes,
    ...[...answers, ...authorities].map((record) => encodeRecord(record, question)),
    ...(edns ? [encodeOptions(edns, reply.rcode)] : []),
  ]);
}

/** Recursion is never available: the bit stays 0. */
function headerOf({ id, opcode, recursionDesired }: QueryHeader, flags: number, counts: readonly number[]): Buffer {
  const repeated = (opcode << 11) | (recursionDesired ? RECURSION_DESIRED_FLAG : 0);
  const header = Buffer.alloc(HEADER_BYTES);
  [id, RESPONSE_FLAG | repeated | flags, ...counts].forEach((word, index) => header.writeUInt16BE(word, index * 2));
  return header;
}

/**
 * The owner is a pointer into the question (RFC 1035 section 4.1.4): it has the question's own case, and a key of 2048
 * bits fits into 512 bytes.
 */
function encodeRecord({ skipLabels, data }: OwnedRecord, { labels, bytes }: Question): Buffer {
  const ownerAt = labels.slice(0, skipLabels).reduce((at, label) => at + 1 + label.length, HEADER_BYTES);
  const owner = Buffer.from([0xc0 | (ownerAt >> 8), ownerAt & 0xff]);
  if (ownerAt >= HEADER_BYTES + bytes.length) throw new RangeError('The owner lies outside the question');
  const message = encode({ type: 'response', answers: [{ ...data, name: '.' }] });
  return Buffer.concat([owner, message.subarray(HEADER_BYTES + 1)]);
}

function encodeOptions({ dnssecOk }: Edns, rcode: Rcode): Buffer {
  const options: OptAnswer = {
    type: 'OPT',
    name: '.',
    udpPayloadSize: MAX_UDP_BYTES,
    extendedRcode: RCODES[rcode] >> 4,
    ednsVersion: 0,
    // Repeated as it came (RFC 3225 section 3).
    flags: dnssecOk ? DNSSEC_OK_FLAG : 0,
    flag_do: dnssecOk,
    options: [],
  };
  return encode({ type: 'response', additionals: [options] }).subarray(HEADER_BYTES);
}
