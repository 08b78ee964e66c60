import { createSocket } from 'node:dgram';
import fc from 'fast-check';
import { HOUR, SECOND } from '../../../src/common/clock';
import { newId } from '../../../src/common/ids';
import { waitFor } from '../../setup/wait-for';
import { DkimZoneApp, edns, framed, queryFor, RECORD, textOf, ZONE } from './dkim-zone-app';

describe('the responder', () => {
  let app: DkimZoneApp;
  let name: string;
  beforeAll(async () => {
    app = await DkimZoneApp.start();
    name = `wb1.${await app.publish()}.${ZONE}`;
  });
  afterAll(() => app.close());

  const header = fc.uint8Array({ minLength: 0, maxLength: 12 });
  const noise = fc.uint8Array({ minLength: 0, maxLength: 700 }).map((bytes) => Buffer.from(bytes));
  /** A genuine query with some bytes overwritten, and cut off or continued. */
  const damaged = fc
    .tuple(
      fc.constantFrom(0, 512, 4096),
      fc.array(fc.tuple(fc.nat(), fc.nat(255)), { maxLength: 6 }),
      fc.nat(200),
      header,
    )
    .map(([size, changes, end, tail]) => {
      const query = queryFor(name, size ? edns(size) : {});
      for (const [at, byte] of changes) query[at % query.length] = byte;
      return Buffer.concat([query.subarray(0, end), tail]);
    });
  /** Pointers into each other, where a decoder could walk for long. */
  const pointers = fc
    .tuple(fc.nat(65_535), fc.array(fc.nat(0x3fff), { maxLength: 300 }))
    .map(([count, targets]) =>
      Buffer.concat([
        Buffer.from([0, 1, 0, 0, 0, 1, 0, 0, 0, 0, count >> 8, count & 0xff]),
        ...targets.map((target) => Buffer.from([0xc0 | (target >> 8), target & 0xff])),
      ]),
    );

  it('keeps responding whatever datagrams it gets', async () => {
    const messages = fc.sample(fc.oneof(noise, damaged, pointers), 4_000);
    const socket = createSocket('udp4');
    const replies: Buffer[] = [];
    socket.on('message', (reply) => replies.push(reply));
    for (const [index, message] of messages.entries()) {
      await new Promise((resolve) => socket.send(message, app.port, '127.0.0.1', resolve));
      // The kernel drops what does not fit into its buffer: let the responder come along.
      if (index % 40 === 39) expect(textOf(await app.ask(name))).toBe(RECORD);
    }
    socket.close();
    expect(replies.length).toBeGreaterThan(500);
    for (const reply of replies) {
      expect(reply.readUInt16BE(2) & 0x8080).toBe(0x8000);
      expect(reply.length).toBeLessThanOrEqual(1232);
    }
  });

  it('keeps responding whatever streams it gets', async () => {
    for (const message of fc.sample(fc.oneof(noise, damaged, pointers), 200)) {
      const client = await app.connect();
      client.socket.end(message.length % 2 ? message : framed(message));
      await client.whenClosed();
      client.socket.destroy();
    }
    expect(textOf(await app.ask(name))).toBe(RECORD);
  });

  it('queries the database for ids only, and once for many simultaneous queries', async () => {
    const other = `wb1.${await app.publish()}.${ZONE}`;
    const replies = await Promise.all(Array.from({ length: 50 }, () => app.ask(other)));
    for (const reply of replies) expect(textOf(reply)).toBe(RECORD);
  });
});

describe('without its database, the responder', () => {
  let app: DkimZoneApp;
  beforeAll(async () => (app = await DkimZoneApp.start()));
  afterAll(() => app.close());

  it('returns cached records, and SERVFAIL for the rest', async () => {
    const expiresAt = new Date(app.clock.now().getTime() + 3 * HOUR);
    const domainId = await app.publish({ state: 'retiring', expiresAt });
    await app.publish({ domainId, selector: 'wb2' });
    const unknown = newId();
    const ask = (selector: string, id = domainId) => app.ask(`${selector}.${id}.${ZONE}`);
    expect(textOf(await ask('wb1'))).toBe(RECORD);
    expect((await ask('wb1', unknown)).rcode).toBe('NXDOMAIN');

    await app.takeDatabaseAway();
    app.clock.advance(HOUR);
    expect(textOf(await ask('wb1'))).toBe(RECORD);
    expect((await ask('wb3')).rcode).toBe('NXDOMAIN');
    // It may have been added meanwhile.
    expect(await ask('wb1', unknown)).toMatchObject({ rcode: 'SERVFAIL', flag_aa: false, authorities: [] });
    expect((await ask('wb1', newId())).rcode).toBe('SERVFAIL');
    expect((await app.ask({ type: 'SOA' })).answers).toHaveLength(1);

    app.clock.advance(3 * HOUR);
    expect((await ask('wb1')).rcode).toBe('NXDOMAIN');
    expect(textOf(await ask('wb2'))).toBe(RECORD);
    app.clock.advance(48 * HOUR);
    expect((await ask('wb2')).rcode).toBe('SERVFAIL');
  });
});

describe('to one network', () => {
  it('so many replies go in a second, then only the advice to come over TCP', async () => {
    const app = await DkimZoneApp.start({ repliesPerSecond: 5 });
    const name = `wb1.${await app.publish()}.${ZONE}`;
    for (let n = 0; n < 5; n += 1) expect(textOf(await app.ask(name))).toBe(RECORD);
    const query = queryFor(name);
    expect((await app.send(query)).length).toBe(query.length);
    expect(await app.ask(name)).toMatchObject({ flag_tc: true, answers: [] });
    const client = await app.connect();
    expect(textOf((await client.write(query).next())[0]!)).toBe(RECORD);
    client.socket.destroy();
    app.clock.advance(SECOND);
    expect(textOf(await app.ask(name))).toBe(RECORD);
    await app.close();
  });

  it('the advice costs no look-up', async () => {
    const app = await DkimZoneApp.start({ repliesPerSecond: 0 });
    await app.takeDatabaseAway();
    expect(await app.ask(`wb1.${newId()}.${ZONE}`)).toMatchObject({ flag_tc: true, rcode: 'NOERROR', answers: [] });
    await app.close();
  });
});

describe('when it stops, the responder', () => {
  it('frees its port, connections or not', async () => {
    const app = await DkimZoneApp.start();
    const client = await app.connect();
    await app.close();
    await waitFor(() => client.closed, { what: 'the end of the connection' });
    await expect(app.connect()).rejects.toThrow('ECONNREFUSED');
  });
});
