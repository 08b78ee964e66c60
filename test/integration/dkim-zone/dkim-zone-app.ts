import 'reflect-metadata';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import type { TestingModule } from '@nestjs/testing';
import * as dnsPacket from 'dns-packet';
import type { DecodedPacket, Packet, Question } from 'dns-packet';
import { DataSource } from 'typeorm';
import { newId } from '../../../src/common/ids';
import { Metrics } from '../../../src/common/metrics/metrics';
import { DkimZoneLimits } from '../../../src/modules/dkim-zone/dkim-zone-limits';
import { DkimZoneModule } from '../../../src/modules/dkim-zone/dkim-zone.module';
import { DkimZoneServer } from '../../../src/modules/dkim-zone/dkim-zone.server';
import { FakeClock } from '../../doubles/fake-clock';
import { processOf, testConfig } from '../../setup/core-context';
import { createTestDatabase, type TestDatabase } from '../../setup/test-database';
import { waitFor } from '../../setup/wait-for';

export const ZONE = 'dkim.example.org';
export const NAME_SERVERS = ['ns1.example.org', 'ns2.example.org'];
/** As long as that of a key of 2048 bits. */
export const PUBLIC_KEY = 'MIIB'.repeat(98);
export const RECORD = `v=DKIM1; k=rsa; p=${PUBLIC_KEY}`;

const HOST = '127.0.0.1';
const REPLY_TIMEOUT_MS = 5_000;

/** What the codec decodes but its types leave out. */
export type Reply = Omit<DecodedPacket, 'answers' | 'authorities'> & {
  rcode: string;
  answers: any[];
  authorities: any[];
};

interface NewKey {
  domainId: string;
  selector: string;
  state: string;
  publicKey: string;
  expiresAt: Date | null;
}

/** The responder on a database of its own. */
export class DkimZoneApp {
  private constructor(
    private readonly module: TestingModule,
    private readonly database: TestDatabase,
    readonly port: number,
    readonly clock: FakeClock,
  ) {}

  static async start(limits: Partial<DkimZoneLimits> = {}): Promise<DkimZoneApp> {
    const database = await createTestDatabase();
    const clock = new FakeClock();
    const config = testConfig({ DKIM_ZONE: ZONE, DKIM_ZONE_SERVERS: NAME_SERVERS.join(), DNS_PORT: '0' });
    const module = await processOf({ config, databaseUrl: database.url, clock, imports: [DkimZoneModule] })
      .overrideProvider(DkimZoneLimits)
      .useValue(Object.assign(new DkimZoneLimits(), { repliesPerSecond: Infinity, ...limits }))
      .compile();
    module.useLogger(false);
    await module.init();
    return new DkimZoneApp(module, database, await module.get(DkimZoneServer).listen(), clock);
  }

  /** Publishes a key for a domain, by default a new one; returns the domain's id. */
  async publish(fields: Partial<NewKey> = {}): Promise<string> {
    const { domainId = newId(), selector = 'wb1', state = 'active', publicKey = PUBLIC_KEY, expiresAt = null } = fields;
    await this.query(
      `insert into dkim_keys (organization_id, domain_id, selector, private_key_sealed, public_key, state, expires_at)
       values ($1, $2, $3, '', $4, $5, $6)`,
      [newId(), domainId, selector, publicKey, state, expiresAt],
    );
    return domainId;
  }

  query<T = unknown>(text: string, values?: unknown[]): Promise<T[]> {
    return this.module.get(DataSource).query(text, values);
  }

  /** Ends every connection, and lets no new one in. */
  async takeDatabaseAway(): Promise<void> {
    await this.database.drop();
  }

  /** Over UDP; without EDNS unless given. */
  async ask(question: string | Partial<Question>, packet: Partial<Packet> = {}): Promise<Reply> {
    return decode(await this.send(queryFor(question, packet)));
  }

  /** A datagram, and the one that comes back. */
  async send(message: Buffer): Promise<Buffer> {
    const socket = createSocket('udp4');
    try {
      socket.send(message, this.port, HOST);
      const [reply] = await once(socket, 'message', { signal: AbortSignal.timeout(REPLY_TIMEOUT_MS) });
      return reply as Buffer;
    } finally {
      socket.close();
    }
  }

  async connect(localAddress = HOST): Promise<DnsClient> {
    const socket = connect({ port: this.port, host: HOST, localAddress, allowHalfOpen: true });
    await once(socket, 'connect');
    return new DnsClient(socket);
  }

  /** The value of a sample, 0 when there is none. */
  async count(rcode: string): Promise<number> {
    const text = await this.module.get(Metrics).registry.metrics();
    const line = text.split('\n').find((each) => each.startsWith(`waybill_dns_queries_total{rcode="${rcode}"}`));
    return Number(line?.split(' ').at(-1) ?? 0);
  }

  async close(): Promise<void> {
    await this.module.close();
    await this.database.drop();
  }
}

/** One TCP connection that counts what has come back. */
export class DnsClient {
  readonly replies: Reply[] = [];
  closed = false;
  private waiting = Buffer.alloc(0);

  constructor(readonly socket: Socket) {
    socket.on('data', (chunk: Buffer) => this.take(chunk));
    socket.on('error', () => undefined);
    socket.on('close', () => (this.closed = true));
    socket.on('end', () => (this.closed = true));
  }

  /** @param queries each gets its length in front. */
  write(...queries: Buffer[]): this {
    this.socket.write(framed(...queries));
    return this;
  }

  async next(count = 1): Promise<Reply[]> {
    await waitFor(() => this.replies.length >= count, { what: `${count} replies` });
    return this.replies.splice(0, count);
  }

  whenClosed(): Promise<boolean> {
    return waitFor(() => this.closed, { what: 'the end of the connection' });
  }

  private take(chunk: Buffer): void {
    this.waiting = Buffer.concat([this.waiting, chunk]);
    while (this.waiting.length >= 2 && this.waiting.length >= 2 + this.waiting.readUInt16BE(0)) {
      const end = 2 + this.waiting.readUInt16BE(0);
      this.replies.push(decode(this.waiting.subarray(2, end)));
      this.waiting = this.waiting.subarray(end);
    }
  }
}

export function framed(...messages: Buffer[]): Buffer {
  return Buffer.concat(
    messages.flatMap((message) => [Buffer.from([message.length >> 8, message.length & 0xff]), message]),
  );
}

export function queryFor(question: string | Partial<Question>, packet: Partial<Packet> = {}): Buffer {
  const asked = typeof question === 'string' ? { name: question } : question;
  const questions = [{ type: 'TXT', class: 'IN', name: ZONE, ...asked } as Question];
  return dnsPacket.encode({ type: 'query', id: 0x1234, questions, ...packet });
}

/** The additional record of a query with EDNS. */
export function edns(udpPayloadSize: number, fields: object = {}): Partial<Packet> {
  const record = { type: 'OPT', name: '.', udpPayloadSize, extendedRcode: 0, ednsVersion: 0, flags: 0, options: [] };
  return { additionals: [{ ...record, ...fields } as any] };
}

export function decode(message: Buffer): Reply {
  return dnsPacket.decode(message) as unknown as Reply;
}

/** The text of the only TXT record of a reply. */
export function textOf({ answers }: Reply): string {
  expect(answers).toHaveLength(1);
  return Buffer.concat(answers[0].data).toString();
}
