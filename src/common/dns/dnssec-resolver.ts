import { randomInt } from 'node:crypto';
import { createSocket } from 'node:dgram';
import { getServers } from 'node:dns';
import { connect, isIPv6 } from 'node:net';
import * as dnsPacket from 'dns-packet';
import type { Answer, Question, RecordType } from 'dns-packet';
import { SECOND } from '../clock';
import { dnsErrorCode, isHostName, type LookupOptions } from './dns-resolver';
import { LookUpShares, type WeighedReply } from './look-up-shares';
import { shortenReply } from './short-reply';

/**
 * What a validating resolver says. `isSecure`: it vouches for the answer, also for one that there is nothing (RFC 4035 section
 * 3.2.3). `temporary`: nothing may be concluded, as the resolver does not answer, or has found the zone's signatures to be false.
 */
export type DnssecAnswer =
  | { readonly kind: 'answered'; readonly isSecure: boolean; readonly answers: readonly Answer[] }
  | { readonly kind: 'temporary'; readonly reason: string };

/** Avoids fragments (DNS flag day 2020). */
const UDP_BYTES = 1_232;
/** More than any set of records with its signatures takes. */
const MAX_REPLY_BYTES = 16 * 1024;
/** Of answers, signatures among them. A record of the longest name takes this process 75 µs, and others wait meanwhile. */
const MOST_ANSWERS = 64;
const TIMEOUT_MS = 3 * SECOND;
const TRIES = 2;
const DNS_PORT = 53;
const NXDOMAIN = 3;
const RCODE_BITS = 0x0f;
/** Of the flags (RFC 1035 section 4.1.1). */
const TRUNCATED = 0x0200;

/**
 * Look-ups that tell whether they are proven by DNSSEC, which the platform's do not. The proof is the resolver's word, the AD
 * flag: it is worth as much as the way there, so that the resolver belongs on this machine or in its network.
 */
export class DnssecResolver {
  private readonly servers: readonly string[];
  private readonly shares = new LookUpShares();

  /** @param servers `host:port`, `[v6]:port` or an address; the system's own when empty */
  constructor(
    servers: readonly string[],
    private readonly timeoutMs = TIMEOUT_MS,
  ) {
    this.servers = servers.length > 0 ? servers : getServers();
  }

  /**
   * Never rejects. A name that does not exist has no answers; of very many answers there are the first.
   * @param options.holder whose share of the look-ups it is of
   */
  async query(name: string, type: RecordType, { holder = '', signal }: LookupOptions = {}): Promise<DnssecAnswer> {
    if (!isHostName(name)) return { kind: 'answered', isSecure: false, answers: [] };
    try {
      return await this.shares.run(holder, () => this.queryEach(name, type), signal);
    } catch (error) {
      return { kind: 'temporary', reason: dnsErrorCode(error) };
    }
  }

  private async queryEach(name: string, type: RecordType): Promise<WeighedReply<DnssecAnswer>> {
    let reason = 'ENOSERVER';
    for (let attempt = 0; attempt < TRIES; attempt += 1) {
      const server = this.servers[attempt % this.servers.length];
      if (server === undefined) break;
      try {
        return await this.ask(endpointOf(server), name, type);
      } catch (error) {
        reason = (error as Error).message;
      }
    }
    return { found: { kind: 'temporary', reason }, records: 0 };
  }

  private async ask(server: Endpoint, name: string, type: RecordType): Promise<WeighedReply<DnssecAnswer>> {
    const id = randomInt(0x10000);
    const query = encode(id, name, type);
    const isReply = (bytes: Buffer) => bytes.length >= 12 && bytes.readUInt16BE(0) === id;
    const overUdp = read(await exchangeDatagrams(server, query, isReply, this.timeoutMs), name, type);
    if (overUdp !== 'truncated') return overUdp;
    const overTcp = read(await exchangeStream(server, query, this.timeoutMs), name, type);
    if (overTcp === 'truncated') throw new Error('ETRUNCATED');
    return overTcp;
  }
}

interface Endpoint {
  readonly host: string;
  readonly port: number;
}

function endpointOf(server: string): Endpoint {
  const [, six, four, port] = /^(?:\[([^\]]+)\]|([\d.]+)):(\d+)$/.exec(server) ?? [];
  return { host: six ?? four ?? server, port: port === undefined ? DNS_PORT : Number(port) };
}

function encode(id: number, name: string, type: RecordType): Buffer {
  const { RECURSION_DESIRED, AUTHENTIC_DATA, DNSSEC_OK } = dnsPacket;
  return dnsPacket.encode({
    type: 'query',
    id,
    flags: RECURSION_DESIRED | AUTHENTIC_DATA,
    questions: [{ type, name, class: 'IN' }],
    additionals: [
      // The flag of the type is of what has been decoded.
      {
        ...{ type: 'OPT', name: '.', udpPayloadSize: UDP_BYTES, flags: DNSSEC_OK, flag_do: true },
        ...{ extendedRcode: 0, ednsVersion: 0, options: [] },
      } as const,
    ],
  });
}

/** @throws Error for what is no answer to this question */
function read(bytes: Buffer, name: string, type: RecordType): WeighedReply<DnssecAnswer> | 'truncated' {
  // RFC 2181 section 9: nothing else of it counts, and it may end within a record.
  if ((bytes.readUInt16BE(2) & TRUNCATED) !== 0) return 'truncated';
  const short = shortenReply(bytes, MOST_ANSWERS);
  const reply = dnsPacket.decode(short.bytes);
  if (reply.type !== 'response' || !isAbout(reply.questions?.[0], name, type)) throw new Error('EBADRESP');
  const rcode = (reply.flags ?? 0) & RCODE_BITS;
  const isAnswer = rcode === 0 || rcode === NXDOMAIN;
  const found: DnssecAnswer = isAnswer
    ? { kind: 'answered', isSecure: reply.flag_ad, answers: reply.answers ?? [] }
    : { kind: 'temporary', reason: `RCODE ${rcode}` };
  return { found, records: short.answers };
}

function isAbout(question: Question | undefined, name: string, type: RecordType): boolean {
  return question?.type === type && question.name.toLowerCase() === name.toLowerCase().replace(/\.$/, '');
}

/** From a port of its own; a reply that is not to this query does not count. */
function exchangeDatagrams(
  { host, port }: Endpoint,
  query: Buffer,
  isReply: (bytes: Buffer) => boolean,
  timeoutMs: number,
): Promise<Buffer> {
  const socket = createSocket(isIPv6(host) ? 'udp6' : 'udp4');
  return new Promise<Buffer>((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error('ETIMEOUT')), timeoutMs);
    socket.once('error', reject);
    socket.on('message', (bytes) => isReply(bytes) && resolve(bytes));
    socket.once('close', () => clearTimeout(timer));
    // Connected: what others send does not arrive. A callback of `connect` is called for its failure too, and then there is no `error`.
    socket.once('connect', () => socket.send(query));
    socket.connect(port, host);
  }).finally(() => socket.close());
}

function exchangeStream({ host, port }: Endpoint, query: Buffer, timeoutMs: number): Promise<Buffer> {
  const socket = connect({ host, port });
  return new Promise<Buffer>((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error('ETIMEOUT')), timeoutMs);
    let received: Buffer = Buffer.alloc(0);
    socket.once('error', reject);
    socket.once('close', () => {
      clearTimeout(timer);
      reject(new Error('ECONNRESET'));
    });
    socket.on('data', (chunk: Buffer) => {
      received = Buffer.concat([received, chunk]);
      if (received.length >= 2 && received.readUInt16BE(0) > MAX_REPLY_BYTES) return void reject(new Error('ETOOLONG'));
      if (received.length >= 2 && received.length >= 2 + received.readUInt16BE(0)) {
        resolve(received.subarray(2, 2 + received.readUInt16BE(0)));
      }
    });
    const length = Buffer.alloc(2);
    length.writeUInt16BE(query.length);
    socket.write(Buffer.concat([length, query]));
  }).finally(() => socket.destroy());
}
