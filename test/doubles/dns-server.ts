import { createSocket, type RemoteInfo, type Socket as DatagramSocket } from 'node:dgram';
import { once } from 'node:events';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import * as dnsPacket from 'dns-packet';
import type { Answer, Packet, Question, TlsaData } from 'dns-packet';

/** A fault of a whole name, or of one type of it. */
export type DnsFault = 'servfail' | 'refused' | 'silent' | 'garbage';

/** Records of one name by type. A type that is missing is NODATA; a `CNAME` is followed within the table. */
export interface DnsRecords {
  A?: readonly string[] | DnsFault;
  AAAA?: readonly string[] | DnsFault;
  /** `[preference, exchange]`; `'.'` is the null MX. */
  MX?: readonly (readonly [number, string])[] | DnsFault;
  /** A string each, or its parts; a string that is too long for one part is split into several. */
  TXT?: readonly (string | readonly string[])[] | DnsFault;
  CNAME?: string;
  NS?: readonly string[] | DnsFault;
  PTR?: readonly string[] | DnsFault;
  TLSA?: readonly TlsaData[] | DnsFault;
  ttlSeconds?: number;
  /** The resolver validates records of this name (the AD flag, on request, when it does so for all names of a response). */
  signed?: boolean;
  /** Over UDP a truncated reply, empty or ending within its last record; the records over TCP. */
  truncated?: boolean | 'within a record';
}

/** Names in lower case without the last dot. A name that is missing is NXDOMAIN. */
export type DnsZones = Record<string, DnsRecords | DnsFault>;

/** How long a client should wait for a response, in ms: 30 s on a busy machine, 1 s in zones whose servers stay silent. */
export function patienceWith(zones: DnsZones): number {
  return Object.values(zones).some((zone) => zone === 'silent' || zone === 'garbage') ? 1_000 : 30_000;
}

type RecordType = 'A' | 'AAAA' | 'MX' | 'TXT' | 'CNAME' | 'NS' | 'PTR' | 'TLSA';

const RCODES = { noerror: 0, servfail: 2, nxdomain: 3, refused: 5 };
const MAXIMUM_ALIASES = 16;
/** RFC 1035 section 4.2.1; the clients under test send no EDNS size. */
const MAXIMUM_DATAGRAM = 512;
const MAXIMUM_MESSAGE = 65_535;
const HOST = '127.0.0.1';
/** The one of AD, in a message. */
const FLAGS_BYTE = 3;

/**
 * A recursive resolver on loopback, UDP and TCP on one port, that serves records from a table.
 * `const dns = await DnsServer.start({ 'example.test': { MX: [[10, 'mx.example.test']] } })`, then
 * `new NodeDnsResolver({ servers: [dns.endpoint] })`, and `await dns.stop()` at the end.
 */
export class DnsServer {
  /** All queries so far, as `MX example.test`. */
  readonly queries: string[] = [];
  private readonly connections = new Set<Socket>();

  private constructor(
    private readonly udp: DatagramSocket,
    private readonly tcp: Server,
    private zones: DnsZones,
  ) {
    udp.on('message', (message, peer) => this.answerDatagram(message, peer));
    tcp.on('connection', (socket) => this.serveConnection(socket));
  }

  static async start(zones: DnsZones = {}): Promise<DnsServer> {
    for (let attempt = 0; attempt < 20; attempt += 1) {
      const tcp = createServer().listen(0, HOST);
      await once(tcp, 'listening');
      const udp = createSocket('udp4');
      try {
        udp.bind((tcp.address() as AddressInfo).port, HOST);
        await once(udp, 'listening');
        return new DnsServer(udp, tcp, zones);
      } catch {
        udp.close();
        tcp.close();
      }
    }
    throw new Error('No port is free for both UDP and TCP');
  }

  get port(): number {
    return this.udp.address().port;
  }

  /** `host:port`, in the form of `DNS_SERVERS` and `setServers`. */
  get endpoint(): string {
    return `${HOST}:${this.port}`;
  }

  /** Adds names or replaces them whole. */
  set(zones: DnsZones): void {
    this.zones = { ...this.zones, ...zones };
  }

  async stop(): Promise<void> {
    for (const socket of this.connections) socket.destroy();
    await Promise.all([
      new Promise<void>((resolve) => this.udp.close(() => resolve())),
      new Promise<void>((resolve) => this.tcp.close(() => resolve())),
    ]);
  }

  private answerDatagram(message: Buffer, peer: RemoteInfo): void {
    const reply = this.reply(message, MAXIMUM_DATAGRAM);
    if (reply !== undefined) this.udp.send(reply, peer.port, peer.address);
  }

  private serveConnection(socket: Socket): void {
    let pending: Buffer = Buffer.alloc(0);
    this.connections.add(socket);
    socket.on('close', () => this.connections.delete(socket));
    socket.on('error', () => socket.destroy());
    socket.on('data', (chunk: Buffer) => {
      pending = Buffer.concat([pending, chunk]);
      while (pending.length >= 2 && pending.length >= 2 + pending.readUInt16BE(0)) {
        const end = 2 + pending.readUInt16BE(0);
        const reply = this.reply(pending.subarray(2, end), MAXIMUM_MESSAGE);
        if (reply !== undefined) socket.write(Buffer.concat([uint16(reply.length), reply]));
        pending = pending.subarray(end);
      }
    });
  }

  /** The bytes to send; undefined when the name gets no reply. */
  private reply(message: Buffer, maximumLength: number): Buffer | undefined {
    const query = dnsPacket.decode(message);
    const question = query.questions?.[0];
    if (question === undefined) return undefined;
    const overUdp = maximumLength === MAXIMUM_DATAGRAM;
    this.queries.push(`${question.type} ${question.name}`);
    const zone = this.zones[nameOf(question.name)];
    const outcome = this.answersFor(question);
    if (outcome === 'silent') return undefined;
    if (outcome === 'garbage') return Buffer.from('000081800001', 'hex').fill(uint16(query.id ?? 0), 0, 2);
    if (typeof outcome === 'string') return encode(query, [], RCODES[outcome]);
    const truncated = overUdp && typeof zone === 'object' && zone.truncated;
    if (truncated === 'within a record') return encode(query, outcome, 0, true).subarray(0, -1);
    if (truncated) return encode(query, [], 0, true);
    const bytes = encodeWithin(query, outcome, maximumLength, overUdp);
    const targets =
      question.type === 'CNAME' ? [] : outcome.flatMap((answer) => (answer.type === 'CNAME' ? answer.data : []));
    const isVouchedFor = query.flag_ad && [question.name, ...targets].every((name) => this.isSigned(name));
    if (isVouchedFor) bytes.writeUInt8(bytes.readUInt8(FLAGS_BYTE) | dnsPacket.AUTHENTIC_DATA, FLAGS_BYTE);
    return bytes;
  }

  private isSigned(name: string): boolean {
    const zone = this.zones[nameOf(name)];
    return typeof zone === 'object' && zone.signed === true;
  }

  /** Follows aliases as a recursive resolver does, at most 16 of them, so that a loop ends without the record. */
  private answersFor(question: Question): Answer[] | DnsFault | 'nxdomain' {
    const answers: Answer[] = [];
    let name = question.name;
    for (let alias = 0; alias <= MAXIMUM_ALIASES; alias += 1) {
      const zone = this.zones[nameOf(name)];
      if (zone === undefined) return 'nxdomain';
      if (typeof zone === 'string') return zone;
      const found = recordsOf(name, zone, question.type as RecordType);
      if (typeof found === 'string') return found;
      if (found.length > 0 || zone.CNAME === undefined) return [...answers, ...found];
      answers.push(answerOf(name, zone, 'CNAME', zone.CNAME));
      name = zone.CNAME;
    }
    return answers;
  }
}

function recordsOf(name: string, zone: DnsRecords, type: RecordType): Answer[] | DnsFault {
  if (type === 'CNAME') return zone.CNAME === undefined ? [] : [answerOf(name, zone, type, zone.CNAME)];
  const records = zone[type] ?? [];
  if (typeof records === 'string') return records;
  return records.map((record) => answerOf(name, zone, type, record));
}

function answerOf(name: string, zone: DnsRecords, type: RecordType, record: unknown): Answer {
  return { type, name, ttl: zone.ttlSeconds ?? 60, data: dataOf(type, record) } as Answer;
}

function dataOf(type: RecordType, record: unknown): unknown {
  if (type === 'TXT' && typeof record === 'string') return record.match(/[^]{1,255}/g) ?? record;
  if (type !== 'MX') return record;
  const [preference, exchange] = record as [number, string];
  return { preference, exchange };
}

/** As many records as fit; over UDP with the truncation bit when some do not. */
function encodeWithin(query: Packet, answers: Answer[], maximumLength: number, overUdp: boolean): Buffer {
  const whole = encode(query, answers, 0);
  if (whole.length <= maximumLength) return whole;
  if (overUdp) return encode(query, [], 0, true);
  let count = answers.length;
  let reply = whole;
  while (reply.length > maximumLength) {
    count = Math.min(count - 1, Math.floor((count * maximumLength) / reply.length));
    reply = encode(query, answers.slice(0, count), 0);
  }
  return reply;
}

function encode(query: Packet, answers: Answer[], rcode: number, truncated = false): Buffer {
  const { RECURSION_DESIRED, RECURSION_AVAILABLE, TRUNCATED_RESPONSE } = dnsPacket;
  return dnsPacket.encode({
    type: 'response',
    id: query.id,
    flags: RECURSION_DESIRED | RECURSION_AVAILABLE | (truncated ? TRUNCATED_RESPONSE : 0) | rcode,
    questions: query.questions,
    answers,
  });
}

function nameOf(name: string): string {
  return name.toLowerCase().replace(/\.$/, '');
}

function uint16(value: number): Buffer {
  const buffer = Buffer.alloc(2);
  buffer.writeUInt16BE(value);
  return buffer;
}
