import { decode, type OptAnswer } from 'dns-packet';

/** Response codes (RFC 1035 section 4.1.1; BADVERS: RFC 6891 section 9). */
export const RCODES = {
  NOERROR: 0,
  FORMERR: 1,
  SERVFAIL: 2,
  NXDOMAIN: 3,
  NOTIMP: 4,
  REFUSED: 5,
  BADVERS: 16,
} as const;

export type Rcode = keyof typeof RCODES;

/** Record types that are treated apart; all others are just absent. */
export const TYPES = { NS: 2, SOA: 6, TXT: 16, IXFR: 251, AXFR: 252, ANY: 255 } as const;

export const CLASS_IN = 1;

export const HEADER_BYTES = 12;
const RESPONSE_BIT = 0x8000;
const MAX_NAME_BYTES = 255;
const MAX_LABEL_BYTES = 63;
/** OPT and a signature (TSIG); more is no query. */
const MAX_ADDITIONALS = 2;

/** What a reply repeats of the query's header. */
export interface QueryHeader {
  readonly id: number;
  readonly opcode: number;
  readonly recursionDesired: boolean;
}

export interface Question {
  /** In lower case: a byte of the wire is a character. */
  readonly labels: readonly string[];
  readonly type: number;
  readonly class: number;
  /** As it came, for the reply: its letters keep their case (draft-vixie-dnsext-dns0x20). */
  readonly bytes: Buffer;
}

/** RFC 6891. */
export interface Edns {
  readonly version: number;
  readonly udpPayloadBytes: number;
  readonly dnssecOk: boolean;
}

export interface DnsQuery {
  readonly header: QueryHeader;
  readonly question: Question;
  readonly edns: Edns | undefined;
}

/** A message that has a header but is no query that can be answered. */
export interface FaultyQuery {
  readonly header: QueryHeader;
  readonly fault: Extract<Rcode, 'FORMERR' | 'NOTIMP'>;
}

/** Undefined for what gets no reply: less than a header, and replies, which two servers could exchange without end. */
export function readQuery(message: Buffer): DnsQuery | FaultyQuery | undefined {
  if (message.length < HEADER_BYTES) return undefined;
  const flags = message.readUInt16BE(2);
  if (flags & RESPONSE_BIT) return undefined;
  const header = { id: message.readUInt16BE(0), opcode: (flags >> 11) & 15, recursionDesired: (flags & 0x100) !== 0 };
  if (header.opcode !== 0) return { header, fault: 'NOTIMP' };
  // Before anything is decoded: many sections with pointers into each other would cost a decoder seconds.
  const question = hasCountsOfQuery(message) ? readQuestion(message) : undefined;
  const options = question && readOptions(message);
  return question && options ? { header, question, edns: options[0] } : { header, fault: 'FORMERR' };
}

function hasCountsOfQuery(message: Buffer): boolean {
  const [questions, answers, authorities, additionals] = [4, 6, 8, 10].map((at) => message.readUInt16BE(at));
  // An IXFR has an SOA as its authority (RFC 1995 section 3).
  return questions === 1 && answers === 0 && (authorities ?? 0) <= 1 && (additionals ?? 0) <= MAX_ADDITIONALS;
}

/** By hand, because a decoder turns labels into one text and so loses bytes that a reply has to repeat. */
function readQuestion(message: Buffer): Question | undefined {
  const labels: string[] = [];
  let at = HEADER_BYTES;
  let length = message[at];
  while (length !== 0) {
    // Also refuses pointers: there is nothing before the first name that it could point to.
    if (length === undefined || length > MAX_LABEL_BYTES) return undefined;
    labels.push(message.toString('latin1', at + 1, at + 1 + length).toLowerCase());
    at += 1 + length;
    length = message[at];
  }
  const end = at + 5;
  if (end > message.length || at + 1 - HEADER_BYTES > MAX_NAME_BYTES) return undefined;
  return {
    labels,
    type: message.readUInt16BE(at + 1),
    class: message.readUInt16BE(at + 3),
    bytes: message.subarray(HEADER_BYTES, end),
  };
}

/** No OPT record or one; undefined when the message cannot be decoded or has two (RFC 6891 section 6.1.1). */
function readOptions(message: Buffer): Edns[] | undefined {
  try {
    const records = (decode(message).additionals ?? []).filter((record): record is OptAnswer => record.type === 'OPT');
    if (records.length > 1 || records.some(({ name }) => name !== '.')) return undefined;
    return records.map(({ ednsVersion, udpPayloadSize, flag_do: dnssecOk }) => {
      return { version: ednsVersion, udpPayloadBytes: udpPayloadSize, dnssecOk };
    });
  } catch {
    return undefined;
  }
}
