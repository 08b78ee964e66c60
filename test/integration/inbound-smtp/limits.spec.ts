import { waitFor } from '../../setup/wait-for';
import { InboundApp, MAIL_HOST } from './inbound-app';
import { RawSmtpClient } from './raw-smtp-client';

const KIB = 1024;
const LIMITS = { maxConnections: 3, maxRefusals: 5, keptReportBytes: 64 * KIB, maxDataBytes: 256 * KIB };

/** A message of about so many bytes. */
function messageOf(bytes: number): string {
  return `Subject: big\r\n\r\n${`${'x'.repeat(70)}\r\n`.repeat(Math.ceil(bytes / 72))}`;
}

describe('the bounce listener', () => {
  let app: InboundApp;
  beforeEach(async () => {
    app = await InboundApp.start(LIMITS);
  });
  afterEach(() => app.close());
  const address = () => `${app.issue()}@${MAIL_HOST}`;

  it('refuses a message that says it is too large', async () => {
    const client = await app.client();
    expect(await client.command(`MAIL FROM:<> SIZE=${25 * KIB * KIB + 1}`)).toMatch(/^552 /);
    expect(await client.command('MAIL FROM:<>')).toMatch(/^250 /);
  });

  it('keeps the first part of a report whose original is large', async () => {
    const client = await app.transaction(address());
    await client.command('DATA');
    const message = messageOf(2 * LIMITS.keptReportBytes);
    expect(await client.send(`${message}.\r\n`).reply()).toMatch(/^250 /);
    const [report, ...others] = await app.reports();
    expect(others).toEqual([]);
    expect(report?.raw.toString()).toBe(`Return-Path: <>\r\n${message.slice(0, LIMITS.keptReportBytes)}`);
    // The client did not hear of it, and sends the same again.
    expect(await app.deliver(message.slice(0, -2), address())).toMatch(/^250 /);
    expect(await app.reports()).toHaveLength(1);
  });

  it('puts recipients of another kind off, so that what one refuses at the end does not refuse the others', async () => {
    const route = await app.route('help@in.example.com');
    const own = [address(), route, `abuse@${MAIL_HOST}`];
    for (const first of own) {
      const client = await app.transaction(first);
      for (const other of own.filter((one) => one !== first)) {
        expect(await client.command(`RCPT TO:<${other}>`)).toMatch(/^452 4\.5\.3 /);
      }
      await client.command('DATA');
      expect(await client.send('Subject: x\r\n\r\nx\r\n.\r\n').reply()).toMatch(/^250 /);
    }
  });

  it('counts as guesses what is unknown, and not what is to come again', async () => {
    const addresses = Array.from({ length: 35 }, (_each, position) => `${app.issue({ position })}@${MAIL_HOST}`);
    const client = await app.transaction(...addresses.slice(0, 10));
    for (const more of addresses.slice(10)) {
      expect(await client.command(`RCPT TO:<${more}>`)).toMatch(/^452 4\.5\.3 /);
    }
    await client.command('DATA');
    expect(await client.send('Subject: x\r\n\r\nx\r\n.\r\n').reply()).toMatch(/^250 /);
  });

  it('cuts off a client that does not stop sending', async () => {
    const client = await app.transaction(address());
    await client.command('DATA');
    client.send(messageOf(4 * LIMITS.maxDataBytes));
    expect(await client.reply()).toBe('421 4.3.4 The message is far too large');
    await client.untilClosed();
    expect(await app.count('inbound_refusals_total{reason="too-large"}')).toBe(1);
    expect(await app.reports()).toEqual([]);
  });

  it('takes ten recipients at a time and puts the others off', async () => {
    const addresses = Array.from({ length: 11 }, (_each, position) => `${app.issue({ position })}@${MAIL_HOST}`);
    const client = await app.transaction(...addresses.slice(0, 10));
    expect(await client.command(`RCPT TO:<${addresses[10]}>`)).toMatch(/^452 /);
    await client.command('DATA');
    expect(await client.send('Subject: x\r\n\r\nx\r\n.\r\n').reply()).toMatch(/^250 /);
    expect(await app.reports()).toHaveLength(10);
  });

  it('ends the connection of a client that is refused again and again', async () => {
    const client = await app.client();
    await client.command('MAIL FROM:<>');
    for (let round = 0; round < LIMITS.maxRefusals; round += 1) {
      expect(await client.command(`RCPT TO:<guess${round}@${MAIL_HOST}>`)).toMatch(/^550 /);
    }
    expect(await client.command(`RCPT TO:<guess@${MAIL_HOST}>`)).toBe('421 4.7.0 Too many refused recipients');
    await client.untilClosed();
  });

  it('turns away connections beyond its number, until one ends', async () => {
    const clients = await Promise.all(Array.from({ length: LIMITS.maxConnections }, () => app.client()));
    const surplus = await RawSmtpClient.open(app.port);
    expect(await surplus.reply()).toBe('421 4.3.2 Too many connections');
    await surplus.untilClosed();
    clients[0]?.close();
    const greeting = await waitFor(
      async () => {
        const next = await RawSmtpClient.open(app.port);
        const reply = await next.reply();
        next.close();
        return reply.startsWith('220 ') && reply;
      },
      { what: 'a free connection' },
    );
    expect(greeting).toContain(MAIL_HOST);
    expect(await app.count('inbound_refusals_total{reason="too-many-connections"}')).toBeGreaterThanOrEqual(1);
    expect(await app.count('inbound_connections_total')).toBeGreaterThanOrEqual(LIMITS.maxConnections + 2);
  });

  it('refuses command lines that have no end', async () => {
    const client = await app.client();
    expect(await client.send('x'.repeat(5_000)).reply()).toMatch(/^421 /);
    await client.untilClosed();
  });

  it('survives clients that break off anywhere', async () => {
    for (const lines of [[''], ['MAIL FROM:<>'], ['MAIL FROM:<>', `RCPT TO:<${address()}>`, 'DATA', 'Subject: half']]) {
      const client = await app.client();
      client.send(lines.map((line) => `${line}\r\n`).join(''));
      if (lines.length > 3) while (!(await client.reply()).startsWith('354')) continue;
      client.socket.resetAndDestroy();
    }
    expect(await app.deliver('Subject: whole\r\n\r\nx', address())).toMatch(/^250 /);
    expect(await app.reports()).toHaveLength(1);
  });
});

describe('what may wait', () => {
  let app: InboundApp;
  beforeEach(async () => {
    app = await InboundApp.start({ maxOpenReports: 4, maxReportsPerDelivery: 3 });
  });
  afterEach(() => app.close());
  const FULL = '452 4.3.1 Too much mail to this address, try again later';
  const to = (position: number) => `${app.issue({ position })}@${MAIL_HOST}`;

  it('of reports on one delivery is bounded; one that is there already is taken again', async () => {
    for (const n of [1, 2, 3]) expect(await app.deliver(`Subject: ${n}\r\n\r\nx`, to(1))).toMatch(/^250 /);
    await app.dataSource.query('update inbound_reports set processed_at = now()');
    expect(await app.deliver('Subject: 4\r\n\r\nx', to(1))).toBe(FULL);
    expect(await app.deliver('Subject: 3\r\n\r\nx', to(1))).toMatch(/^250 /);
    expect(await app.count('inbound_refusals_total{reason="full"}')).toBe(1);
    // What had room is stored when the message is put off for another recipient.
    expect(await app.deliver('Subject: 5\r\n\r\nx', to(1), to(2))).toBe(FULL);
    expect((await app.reports()).map(({ position }) => position)).toEqual([1, 1, 1, 2]);
  });

  it('of one organization is bounded, and leaves others alone', async () => {
    const flood = [1, 2, 3, 4, 5].map((position) => app.deliver('Subject: x\r\n\r\nx', to(position)));
    await Promise.all(flood);
    await app.deliver('Subject: y\r\n\r\nx', to(6));
    expect(await app.deliver('Subject: x\r\n\r\nx', to(7))).toBe(FULL);
    const other = await app.organizations.create('Other');
    const { ordinal } = await app.organizations.get(other.id);
    expect(await app.deliver('Subject: x\r\n\r\nx', `${app.issue({ organizationOrdinal: ordinal })}@${MAIL_HOST}`)).toMatch(/^250 /); // prettier-ignore
    await app.dataSource.query('update inbound_reports set processed_at = now()');
    expect(await app.deliver('Subject: x\r\n\r\nx', to(7))).toMatch(/^250 /);
  });
});

describe('one client of the bounce listener', () => {
  it('has a share of its connections, and leaves the others theirs', async () => {
    const app = await InboundApp.start({ maxConnections: 5, maxConnectionsOfClient: 3 });
    const clients = await Promise.all(Array.from({ length: 3 }, () => app.client()));
    const surplus = await RawSmtpClient.open(app.port);
    expect(await surplus.reply()).toBe('421 4.3.2 Too many connections');
    await surplus.untilClosed();
    const other = await RawSmtpClient.open(app.port, '127.0.0.2');
    expect(await other.reply()).toMatch(/^220 /);
    for (const client of [...clients, other]) client.close();
    const again = await waitFor(
      async () => {
        const next = await RawSmtpClient.open(app.port);
        const reply = await next.reply();
        next.close();
        return reply.startsWith('220 ');
      },
      { what: 'a free connection' },
    );
    expect(again).toBe(true);
    await app.close();
  });

  it('gets a place however many others say nothing, but not that of one who has named a recipient', async () => {
    const app = await InboundApp.start({ maxConnections: 3, maxConnectionsOfClient: 2 });
    const proven = await app.transaction(`${app.issue()}@${MAIL_HOST}`);
    const silent: RawSmtpClient[] = [];
    for (const address of ['127.0.0.2', '127.0.0.2', '127.0.0.3', '127.0.0.4']) {
      silent.push(await RawSmtpClient.open(app.port, address));
      expect(await silent.at(-1)?.reply()).toMatch(/^220 /);
    }
    await silent[0]?.untilClosed();
    await silent[1]?.untilClosed();
    expect(await proven.command('NOOP')).toMatch(/^250 /);
    for (const client of [proven, ...silent]) client.close();
    await app.close();
  });

  it('gets the place of one that has named a recipient once that has had no message taken for a while', async () => {
    const app = await InboundApp.start({ maxConnections: 4, maxConnectionsOfClient: 2 });
    const to = `${app.issue()}@${MAIL_HOST}`;
    const provenFrom = async (address: string) => {
      const client = await RawSmtpClient.greeted(app.port, address);
      for (const line of ['MAIL FROM:<>', `RCPT TO:<${to}>`, 'DATA']) await client.command(line);
      return client;
    };
    const addresses = ['127.0.1.1', '127.0.1.1', '127.0.2.1', '127.0.2.1'];
    const slow: RawSmtpClient[] = [];
    for (const address of addresses) slow.push(await provenFrom(address));
    const surplus = await RawSmtpClient.open(app.port, '127.0.3.1');
    expect(await surplus.reply()).toBe('421 4.3.2 Too many connections');
    app.clock.advance(20_000);
    expect(await slow[0]?.send('Subject: taken\r\n\r\nx\r\n.\r\n').reply()).toMatch(/^250 /);
    app.clock.advance(20_000);
    const next = await RawSmtpClient.greeted(app.port, '127.0.3.1');
    await slow[1]?.untilClosed();
    expect(await slow[0]?.command('NOOP')).toMatch(/^250 /);
    expect(slow[2]?.unread).toBe('');
    for (const client of [...slow, next]) client.close();
    await app.close();
  });

  it('is served as far as its share goes, however many connections it opens at once', async () => {
    const app = await InboundApp.start({ maxConnections: 20, maxConnectionsOfClient: 3 });
    const burst = await Promise.all(Array.from({ length: 30 }, () => RawSmtpClient.open(app.port)));
    const replies = await Promise.all(burst.map((client) => client.reply()));
    expect(replies.filter((reply) => reply.startsWith('220 '))).toHaveLength(3);
    expect(await app.count('inbound_refusals_total{reason="too-many-connections"}')).toBe(27);
    burst.forEach((client) => client.close());
    await app.close();
  });

  it('is cut off when it names no recipient, and stays when it has', async () => {
    const app = await InboundApp.start({ unprovenMs: 2_000 });
    const proven = await app.transaction(`${app.issue()}@${MAIL_HOST}`);
    const unproven = await app.client();
    const drip = setInterval(() => unproven.send('NOOP\r\n'), 10);
    await unproven.untilClosed();
    clearInterval(drip);
    expect(await proven.command('NOOP')).toMatch(/^250 /);
    await app.close();
  });
});

describe('time limits of the bounce listener', () => {
  it('end a connection that is idle', async () => {
    const app = await InboundApp.start({ idleMs: 1_000 });
    const client = await app.client();
    expect(await client.reply()).toMatch(/^421 /);
    await client.untilClosed();
    await app.close();
  });

  it('end a connection that only looks busy', async () => {
    const app = await InboundApp.start({ connectionMs: 2_000 });
    const client = await app.transaction(`${app.issue()}@${MAIL_HOST}`);
    await client.command('DATA');
    const drip = setInterval(() => client.send('x'), 10);
    await client.untilClosed();
    clearInterval(drip);
    expect(await app.reports()).toEqual([]);
    await app.close();
  });
});

describe('the end of the application', () => {
  it('is the end of the listener, also for clients that stay', async () => {
    const app = await InboundApp.start({ closeMs: 50 });
    const client = await RawSmtpClient.greeted(app.port);
    await app.close();
    expect(await client.reply()).toMatch(/^421 /);
    await client.untilClosed();
    await expect(RawSmtpClient.open(app.port)).rejects.toThrow('ECONNREFUSED');
  });
});

describe('the end of a message', () => {
  let app: InboundApp;
  beforeAll(async () => {
    app = await InboundApp.start();
  });
  afterEach(() => app.dataSource.query('delete from inbound_reports'));
  afterAll(() => app.close());

  const ENDS = ['\n.\n', '\n.\r\n', '\r\n.\n', '\r.\r', '\r\n.\r', '\r.\r\n', '\n.\r', '\0\r\n.\0\r\n', '\r\n..\r\n'];

  it.each(ENDS)('is not %j', async (end) => {
    const client = await app.transaction(`${app.issue({ position: 1 })}@${MAIL_HOST}`);
    await client.command('DATA');
    const smuggled = `MAIL FROM:<>\r\nRCPT TO:<${app.issue({ position: 2 })}@${MAIL_HOST}>\r\nDATA\r\nSubject: smuggled\r\n\r\n`;
    expect(await client.send(`Subject: first\r\n\r\nx${end}${smuggled}x\r\n.\r\n`).reply()).toMatch(/^250 /);
    expect(await client.command('NOOP')).toMatch(/^250 /);
    const reports = await app.reports();
    expect(reports.map(({ position }) => position)).toEqual([1]);
    expect(reports[0]?.raw.toString()).toContain('smuggled');
  });

  it('is the same when it comes byte by byte', async () => {
    const client = await app.transaction(`${app.issue()}@${MAIL_HOST}`);
    await client.command('DATA');
    client.socket.setNoDelay(true);
    for (const byte of '..\r\n.\n\r\n..x\r\n.\r\n') {
      await new Promise((sent) => client.socket.write(byte, sent));
      await new Promise(setImmediate);
    }
    expect(await client.reply()).toMatch(/^250 /);
    expect((await app.reports())[0]?.raw.toString()).toBe('Return-Path: <>\r\n.\r\n.\n\r\n.x\r\n');
  });
});
