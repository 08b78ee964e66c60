import { createHash } from 'node:crypto';
import { Client } from 'pg';
import { DAY } from '../../../src/common/clock';
import { poolOf } from '../../../src/database/pool/data-source';
import { waitFor } from '../../setup/wait-for';
import { EMAIL_ID, InboundApp, MAIL_HOST } from '../inbound-smtp/inbound-app';

const REPORT = 'Subject: Undelivered\r\n\r\nNo such user.';

describe('a report', () => {
  let app: InboundApp;
  beforeAll(async () => {
    app = await InboundApp.start();
  });
  afterEach(() => app.dataSource.query('delete from inbound_reports'));
  afterAll(() => app.close());

  it('is stored under the delivery that its address names', async () => {
    const to = `${app.issue({ position: 3, mode: 'test' })}@${MAIL_HOST}`;
    expect(await app.deliver(REPORT, to)).toBe('250 2.6.0 Taken');
    const raw = `Return-Path: <>\r\n${REPORT}\r\n`;
    expect(await app.reports()).toEqual([
      {
        id: expect.any(String),
        received_at: app.clock.now(),
        organization_id: app.organization.id,
        mode: 'test',
        email_id: EMAIL_ID,
        position: 3,
        digest: createHash('sha256').update(raw).digest(),
        raw: Buffer.from(raw),
        attempts: 0,
        claimed_until: null,
        processed_at: null,
        disposition: null,
      },
    ]);
  });

  it.each([
    ['in capitals, as some servers send it', (local: string) => `${local.toUpperCase()}@${MAIL_HOST.toUpperCase()}`],
    ['at the bounce host of any domain', (local: string) => `${local}@bounce.customer.example`],
    ['after a source route, which RFC 5321 says to ignore', (local: string) => `@relay.example:${local}@${MAIL_HOST}`],
  ])('is taken %s', async (_what, address) => {
    expect(await app.deliver(REPORT, address(app.issue()))).toMatch(/^250 /);
    expect(await app.reports()).toHaveLength(1);
  });

  it('keeps its envelope sender for the parser', async () => {
    const client = await app.client();
    await client.command('MAIL FROM:<someone@example.com>');
    await client.command(`RCPT TO:<${app.issue()}@${MAIL_HOST}>`);
    await client.command('DATA');
    expect(await client.send(`${REPORT}\r\n.\r\n`).reply()).toMatch(/^250 /);
    expect((await app.reports())[0]?.raw.toString()).toMatch(/^Return-Path: <someone@example\.com>\r\nSubject:/);
  });

  it.each(['"a b"@b.example', '"<x@y>"@b.example', 'a..b@b.example', 'www-data@my_app_1', 'root'])(
    'comes from %s, which is a sender as well (RFC 5321 section 4.1.2)',
    async (sender) => {
      const client = await app.client();
      expect(await client.command(`MAIL FROM:<${sender}> BODY=8BITMIME SIZE=99`)).toMatch(/^250 /);
      await client.command(`RCPT TO:<${app.issue()}@${MAIL_HOST}>`);
      await client.command('DATA');
      expect(await client.send(`${REPORT}\r\n.\r\n`).reply()).toMatch(/^250 /);
      expect((await app.reports()).at(-1)?.raw.toString()).toContain(`Return-Path: <${sender}>\r\n`);
    },
  );

  it('is stored once however often it comes', async () => {
    const to = `${app.issue()}@${MAIL_HOST}`;
    const before = await app.count('inbound_reports_total{result="duplicate"}');
    for (let round = 0; round < 3; round += 1) expect(await app.deliver(REPORT, to)).toMatch(/^250 /);
    expect(await app.reports()).toHaveLength(1);
    expect(await app.count('inbound_reports_total{result="duplicate"}')).toBe(before + 2);
    expect(await app.deliver(`${REPORT} Again.`, to)).toMatch(/^250 /);
    expect(await app.reports()).toHaveLength(2);
  });

  it('is stored for each of its recipients, once for one that is named twice', async () => {
    const [one, two] = [app.issue({ position: 1 }), app.issue({ position: 2 })];
    await app.deliver(REPORT, `${one}@${MAIL_HOST}`, `${two}@${MAIL_HOST}`, `${one}@bounce.example.net`);
    expect((await app.reports()).map(({ position }) => position).sort()).toEqual([1, 2]);
  });

  it('may hold any bytes', async () => {
    const client = await app.transaction(`${app.issue()}@${MAIL_HOST}`);
    await client.command('DATA');
    const body = Buffer.from([0, 1, 2, 0x80, 0xff, 0x0d, 0x0a, 0x2e, 0x2e, 0x0d, 0x0a]);
    expect(await client.send(body).send('.\r\n').reply()).toMatch(/^250 /);
    const expected = Buffer.concat([Buffer.from('Return-Path: <>\r\n'), body.subarray(0, 8), Buffer.from('\r\n')]);
    expect((await app.reports())[0]?.raw).toEqual(expected);
  });

  it('follows another in the same connection, and forgets the recipients of a reset one', async () => {
    const client = await app.transaction(`${app.issue({ position: 1 })}@${MAIL_HOST}`);
    expect(await client.command('RSET')).toMatch(/^250 /);
    expect(await client.command('DATA')).toMatch(/^503 /);
    for (const position of [2, 3]) {
      await client.command('MAIL FROM:<>');
      await client.command(`RCPT TO:<${app.issue({ position })}@${MAIL_HOST}>`);
      await client.command('DATA');
      expect(await client.send(`${REPORT}\r\n.\r\n`).reply()).toMatch(/^250 /);
    }
    expect((await app.reports()).map(({ position }) => position)).toEqual([2, 3]);
  });

  it('is deleted after 30 days', async () => {
    await app.deliver(REPORT, `${app.issue()}@${MAIL_HOST}`);
    await app.deleteOld();
    expect(await app.reports()).toHaveLength(1);
    app.clock.advance(30 * DAY + DAY);
    await app.deleteOld();
    expect(await app.reports()).toEqual([]);
  });

  describe('is committed before its 250:', () => {
    let other: Client;
    beforeEach(async () => {
      const { options } = poolOf(app.dataSource) as unknown as { options: { connectionString: string } };
      other = new Client(options.connectionString);
      await other.connect();
      await other.query('begin; lock table inbound_reports in access exclusive mode');
    });
    afterEach(() => other.end());

    /** The server process that waits to insert. */
    async function waiting(): Promise<number> {
      const find = "select pid from pg_stat_activity where wait_event_type = 'Lock' and query like '%inbound_reports%'";
      return waitFor(async () => (await app.dataSource.query<{ pid: number }[]>(find))[0]?.pid, {
        what: 'a waiting insert',
      });
    }

    it('no commit, no answer', async () => {
      const client = await app.transaction(`${app.issue()}@${MAIL_HOST}`);
      await client.command('DATA');
      client.send(`${REPORT}\r\n.\r\n`);
      await waiting();
      expect(client.unread).toBe('');
      await other.query('commit');
      expect(await client.reply()).toMatch(/^250 /);
      expect(await app.reports()).toHaveLength(1);
    });

    it('the reply is 451 when its transaction is killed, and the message is accepted when it comes again', async () => {
      const to = `${app.issue()}@${MAIL_HOST}`;
      const before = await app.count('inbound_refusals_total{reason="unavailable"}');
      const client = await app.transaction(to);
      await client.command('DATA');
      client.send(`${REPORT}\r\n.\r\n`);
      await other.query('select pg_terminate_backend($1)', [await waiting()]);
      expect(await client.reply()).toBe('451 4.3.0 Temporarily unavailable');
      await other.query('rollback');
      expect(await app.reports()).toEqual([]);
      expect(await app.deliver(REPORT, to)).toMatch(/^250 /);
      expect(await app.count('inbound_refusals_total{reason="unavailable"}')).toBe(before + 1);
    });
  });
});

describe('without a database', () => {
  it('genuine addresses are put off, as those that may be a route’s, and what is neither is still refused', async () => {
    const app = await InboundApp.start();
    await app.dropDatabase();
    const client = await app.client();
    await client.command('MAIL FROM:<>');
    expect(await client.command(`RCPT TO:<${app.issue()}@${MAIL_HOST}>`)).toBe('451 4.3.0 Temporarily unavailable');
    expect(await client.command('RCPT TO:<someone@example.com>')).toBe('451 4.3.0 Temporarily unavailable');
    expect(await client.command(`RCPT TO:<someone@${MAIL_HOST}>`)).toMatch(/^550 5\.1\.1 /);
    await app.close();
  });
});
