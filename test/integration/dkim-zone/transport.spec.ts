import { createSocket } from 'node:dgram';
import { waitFor } from '../../setup/wait-for';
import { decode, DkimZoneApp, type DnsClient, edns, framed, queryFor, RECORD, textOf, ZONE } from './dkim-zone-app';

let app: DkimZoneApp;
let name: string;
/** A key whose record does not fit into 512 bytes, and one that does not fit into any datagram. */
let large: string;
let huge: string;
const clients: DnsClient[] = [];

const connect = async (localAddress?: string, to = app): Promise<DnsClient> => {
  const client = await to.connect(localAddress);
  clients.push(client);
  return client;
};

beforeAll(async () => {
  app = await DkimZoneApp.start({ maxConnections: 7, maxConnectionsPerClient: 3 });
  name = `wb1.${await app.publish()}.${ZONE}`;
  large = `wb1.${await app.publish({ publicKey: 'A'.repeat(800) })}.${ZONE}`;
  huge = `wb1.${await app.publish({ publicKey: 'A'.repeat(2_000) })}.${ZONE}`;
});
afterEach(() => {
  for (const client of clients.splice(0)) client.socket.destroy();
});
afterAll(() => app.close());

describe('over UDP', () => {
  const isTruncated = async (query: Buffer): Promise<boolean> => {
    const message = await app.send(query);
    const reply = decode(message);
    if (reply.flag_tc) expect(reply).toMatchObject({ rcode: 'NOERROR', answers: [], questions: [{ type: 'TXT' }] });
    else expect(reply.answers).toHaveLength(1);
    return reply.flag_tc;
  };

  it('a reply is truncated beyond 512 bytes, or what the client takes, or 1232 bytes', async () => {
    expect(await isTruncated(queryFor(large))).toBe(true);
    expect(await isTruncated(queryFor(large, edns(512)))).toBe(true);
    // Less than 512 counts as 512 (RFC 6891 section 6.2.3).
    expect(await isTruncated(queryFor(name, edns(0)))).toBe(false);
    expect(await isTruncated(queryFor(large, edns(1_232)))).toBe(false);
    expect(await isTruncated(queryFor(large, edns(65_535)))).toBe(false);
    expect(await isTruncated(queryFor(huge, edns(65_535)))).toBe(true);
  });

  it('a truncated reply has its OPT record', async () => {
    expect(await app.ask(huge, edns(4_096))).toMatchObject({ flag_tc: true, additionals: [{ type: 'OPT' }] });
  });

  it('replies and fragments of a header get no response', async () => {
    const socket = createSocket('udp4');
    const heard: number[] = [];
    socket.on('message', (reply) => heard.push(reply.readUInt16BE(0)));
    const reply = queryFor(name, { type: 'response', id: 1 });
    for (const message of [reply, Buffer.alloc(0), Buffer.alloc(11), queryFor(name, { id: 2 })]) {
      await new Promise((resolve) => socket.send(message, app.port, '127.0.0.1', resolve));
    }
    await new Promise((resolve) => socket.once('message', resolve));
    socket.close();
    expect(heard).toEqual([2]);
    expect(await app.count('dropped')).toBe(3);
  });

  it.each([
    ['no question', [0, 0, 0, 0]],
    ['two questions', [2, 0, 0, 0]],
    ['an answer', [1, 1, 0, 0]],
    ['records that are not there', [1, 0, 0, 1]],
    ['more additional records than a query has', [1, 0, 0, 3]],
    ['65535 of everything', [65_535, 65_535, 65_535, 65_535]],
  ])('%s is FORMERR', async (_what, counts) => {
    const query = queryFor(name);
    counts.forEach((count, index) => query.writeUInt16BE(count, 4 + 2 * index));
    const reply = await app.send(query);
    expect(decode(reply)).toMatchObject({ id: 0x1234, rcode: 'FORMERR', flag_aa: false });
    expect(reply).toHaveLength(12);
  });

  it('a question that is cut off, or points elsewhere, is FORMERR', async () => {
    const query = queryFor(name);
    for (const end of [12, 13, 40, query.length - 1]) {
      expect(decode(await app.send(query.subarray(0, end))).rcode).toBe('FORMERR');
    }
    for (const label of [0x40, 0x80, 0xc0]) {
      const odd = Buffer.from(query);
      odd.writeUInt8(label, 12);
      expect(decode(await app.send(odd)).rcode).toBe('FORMERR');
    }
    const long = queryFor(`${'a.'.repeat(130)}example`);
    expect(decode(await app.send(long)).rcode).toBe('FORMERR');
  });
});

describe('over TCP', () => {
  it('the response has the whole record', async () => {
    const [reply] = await (await connect()).write(queryFor(huge)).next();
    expect(textOf(reply!)).toBe(`v=DKIM1; k=rsa; p=${'A'.repeat(2_000)}`);
    expect(reply!.flag_tc).toBe(false);
  });

  it('many queries on one connection get their responses in order, however they are cut into packets', async () => {
    const client = await connect();
    const queries = Array.from({ length: 200 }, (_, id) => queryFor(name, { id }));
    const bytes = framed(...queries);
    client.socket.write(bytes.subarray(0, 1));
    client.socket.write(bytes.subarray(1, 77));
    client.socket.write(bytes.subarray(77, 10_001));
    client.socket.write(bytes.subarray(10_001));
    const replies = await client.next(200);
    expect(replies.map(({ id }) => id)).toEqual(queries.map((_, id) => id));
    expect(textOf(replies[199]!)).toBe(RECORD);
    expect(textOf((await client.write(queryFor(name)).next())[0]!)).toBe(RECORD);
  });

  it('a client that has stopped asking still gets its replies', async () => {
    const client = await connect();
    client.socket.end(framed(queryFor(name, { id: 1 }), queryFor(name, { id: 2 })));
    expect((await client.next(2)).map(({ id }) => id)).toEqual([1, 2]);
    await client.whenClosed();
  });

  it('garbage is FORMERR, and silence for replies', async () => {
    const client = await connect();
    const [reply] = await client.write(queryFor(name, { type: 'response' }), Buffer.alloc(40, 0x11)).next();
    expect(reply?.rcode).toBe('NOTIMP');
    expect(client.replies).toEqual([]);
  });

  it('a length that no query has ends the connection', async () => {
    const client = await connect();
    client.socket.write(Buffer.from([0xff, 0xff, 0x00]));
    await client.whenClosed();
  });

  it('there are only so many connections at a time, and so many of one client', async () => {
    const served = [await connect(), await connect(), await connect()];
    await (await connect()).whenClosed();
    served.push(await connect('127.0.0.2'), await connect('127.0.0.2'));
    served.push(await connect('127.0.0.3'));
    for (const client of served) expect((await client.write(queryFor(name)).next())[0]?.rcode).toBe('NOERROR');
    // The oldest of the client that has most gives way.
    const another = await connect('127.0.0.4');
    await served[0]?.whenClosed();
    for (const client of [another, ...served.slice(1)]) {
      expect((await client.write(queryFor(name)).next())[0]?.rcode).toBe('NOERROR');
    }
  });
});

describe('patience', () => {
  let impatient: DkimZoneApp;
  let long: string;
  beforeAll(async () => {
    impatient = await DkimZoneApp.start({ idleMs: 300, connectionMs: 1_500 });
    long = `wb1.${await impatient.publish({ publicKey: 'A'.repeat(2_000) })}.${ZONE}`;
  });
  afterAll(() => impatient.close());

  it('an idle connection ends, and one that drips', async () => {
    const idle = await connect(undefined, impatient);
    const dripping = await connect(undefined, impatient);
    const drip = setInterval(() => dripping.socket.write(Buffer.from([0])), 100);
    await idle.whenClosed();
    await dripping.whenClosed();
    clearInterval(drip);
  });

  it('a client that takes no replies is read no further, and then cut off', async () => {
    const client = await connect(undefined, impatient);
    client.socket.pause();
    const batch = framed(...Array.from({ length: 500 }, () => queryFor(long)));
    // Some 100 MB of replies: more than the buffers on the way hold, unlike the queries.
    for (let n = 0; n < 100; n += 1) client.socket.write(batch);
    // A client that reads nothing detects the end when it writes.
    await waitFor(() => client.write(queryFor(long)).closed, { what: 'the end of the connection' });
    expect(await impatient.count('NOERROR')).toBeLessThan(25_000);
  });
});
