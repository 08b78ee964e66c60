import { DAY, HOUR } from '../../../src/common/clock';
import { InboundApp, MAIL_HOST } from '../inbound-smtp/inbound-app';
import { RawSmtpClient } from '../inbound-smtp/raw-smtp-client';

const MESSAGE = 'Subject: Complaint\r\n\r\nPlease stop.';
const LIMITS = { maxFeedbackBytes: 4_096, maxFeedbackPerHour: 3, maxFeedbackInAll: 4 };

describe('the public mailboxes', () => {
  let app: InboundApp;
  beforeEach(async () => {
    app = await InboundApp.start(LIMITS);
  });
  afterEach(() => app.close());

  it('are three at the mail host, and postmaster alone', async () => {
    const addresses = [`fbl@${MAIL_HOST}`, `ABUSE@${MAIL_HOST}`, 'postmaster'];
    for (const address of addresses) expect(await app.deliver(`${MESSAGE} ${address}`, address)).toMatch(/^250 /);
    expect(await app.feedback()).toEqual([
      { mailbox: 'fbl', raw: Buffer.from(`Return-Path: <>\r\n${MESSAGE} fbl@${MAIL_HOST}\r\n`) },
      { mailbox: 'abuse', raw: expect.any(Buffer) },
      { mailbox: 'postmaster', raw: expect.any(Buffer) },
    ]);
    expect(await app.reports()).toEqual([]);
  });

  it('store a message once, however often it comes and to however many of them', async () => {
    await app.deliver(MESSAGE, `fbl@${MAIL_HOST}`);
    expect(await app.deliver(MESSAGE, `fbl@${MAIL_HOST}`, `abuse@${MAIL_HOST}`)).toMatch(/^250 /);
    expect(await app.feedback()).toHaveLength(1);
    expect(await app.count('inbound_feedback_total{mailbox="fbl",result="new"}')).toBe(1);
    expect(await app.count('inbound_feedback_total{mailbox="fbl",result="duplicate"}')).toBe(1);
  });

  it('take so many messages an hour and so many in all, and put the others off', async () => {
    const post = (number: number) => app.deliver(`${MESSAGE} ${number}`, `fbl@${MAIL_HOST}`);
    for (const number of [1, 2, 3]) expect(await post(number)).toMatch(/^250 /);
    expect(await post(4)).toBe('452 4.3.1 Too much mail to this address, try again later');
    // What is stored already needs no room: its client lost the reply.
    expect(await post(3)).toMatch(/^250 /);
    app.clock.advance(2 * HOUR);
    expect(await post(5)).toMatch(/^250 /);
    expect(await app.feedback()).toHaveLength(4);
    app.clock.advance(2 * HOUR);
    expect(await post(7)).toMatch(/^452 /);
    expect(await app.count('inbound_refusals_total{reason="full"}')).toBe(2);
    expect(await app.deliver(MESSAGE, `postmaster@${MAIL_HOST}`)).toMatch(/^250 /);
    // Reports at return paths have nothing to do with it.
    expect(await app.deliver(MESSAGE, `${app.issue()}@${MAIL_HOST}`)).toMatch(/^250 /);
  });

  it('leave room to other networks, within the hour and in all', async () => {
    await app.close();
    const ofClient = { perHour: 2, inAll: 3 };
    app = await InboundApp.start({
      ...LIMITS,
      maxFeedbackPerHour: 100,
      maxFeedbackInAll: 100,
      maxFeedbackOfClient: ofClient,
    });
    const post = async (number: number, from?: string) => {
      const client = await RawSmtpClient.greeted(app.port, from);
      for (const line of ['MAIL FROM:<>', `RCPT TO:<abuse@${MAIL_HOST}>`, 'DATA']) await client.command(line);
      const reply = await client.send(`${MESSAGE} ${number}\r\n.\r\n`).reply();
      client.close();
      return reply.slice(0, 9);
    };
    const taken = '250 2.6.0';
    expect([await post(1), await post(2), await post(3), await post(2)]).toEqual([taken, taken, '450 4.7.1', taken]);
    expect(await post(4, '127.0.0.2')).toBe(taken);
    app.clock.advance(2 * HOUR);
    expect([await post(5), await post(6)]).toEqual([taken, '450 4.7.1']);
    expect(await post(7, '127.0.0.2')).toBe(taken);
    expect(await app.feedback()).toHaveLength(5);
    expect(await app.count('inbound_feedback_total{mailbox="abuse",result="share"}')).toBe(2);
  });

  it('leave room to one more network, however many there are', async () => {
    await app.close();
    const ofClient = { perHour: 4, inAll: 100 };
    app = await InboundApp.start({
      ...LIMITS,
      maxFeedbackPerHour: 12,
      maxFeedbackInAll: 100,
      maxFeedbackOfClient: ofClient,
    });
    const takenFrom = async (address: string, mailbox: string) => {
      const client = await RawSmtpClient.greeted(app.port, address);
      let count = 0;
      for (let number = 0; number < 5; number += 1) {
        for (const line of ['MAIL FROM:<>', `RCPT TO:<${mailbox}@${MAIL_HOST}>`, 'DATA']) await client.command(line);
        const reply = await client.send(`${MESSAGE} ${address} ${number}\r\n.\r\n`).reply();
        if (reply.startsWith('250')) count += 1;
        else await client.command('RSET');
      }
      client.close();
      return count;
    };
    const taken: number[] = [];
    for (const network of [2, 3, 4, 5, 6]) taken.push(await takenFrom(`127.0.${network}.1`, 'abuse'));
    expect(taken).toEqual([4, 4, 2, 1, 1]);
    // Of the last fifth, networks of one owner have no more than is left.
    taken.length = 0;
    for (const from of ['7.1', '7.2', '7.3', '7.4', '8.1', '9.1']) {
      taken.push(await takenFrom(`127.0.${from}`, 'postmaster'));
    }
    expect(taken).toEqual([4, 4, 2, 0, 1, 1]);
  });

  it('take mail to the postmaster of each host that has routes, where no route does', async () => {
    await app.route('help@in.example.com');
    expect(await app.deliver(MESSAGE, 'PostMaster@IN.example.com')).toMatch(/^250 /);
    expect(await app.feedback()).toMatchObject([{ mailbox: 'postmaster' }]);
    const client = await app.client();
    await client.command('MAIL FROM:<>');
    // Of the verified domain, but no host that takes mail here.
    for (const other of ['postmaster@other.in.example.com', 'abuse@in.example.com', 'postmasters@in.example.com']) {
      expect(await client.command(`RCPT TO:<${other}>`)).toMatch(/^550 5\.1\.1 /);
    }
    await app.dataSource.query("update inbound_routes set address = '*@in.example.com'");
    expect(await app.deliver(MESSAGE, 'postmaster@in.example.com')).toMatch(/^250 /);
    expect(await app.dataSource.query('select id from inbound_emails')).toHaveLength(1);
    expect(await app.feedback()).toHaveLength(1);
    await app.dataSource.query("update domains set verification_status = 'failed'");
    expect(await client.command('RCPT TO:<postmaster@in.example.com>')).toMatch(/^550 5\.7\.1 /);
  });

  it('take smaller messages than return paths do', async () => {
    const large = `Subject: large\r\n\r\n${'x'.repeat(70)}\r\n`.repeat(80);
    expect(await app.deliver(large, `postmaster@${MAIL_HOST}`)).toMatch(/^552 5\.3\.4 /);
    expect(await app.deliver(large, `dmarc@${MAIL_HOST}`)).toMatch(/^552 5\.3\.4 /);
    expect(await app.deliver(large, `${app.issue()}@${MAIL_HOST}`)).toMatch(/^250 /);
  });

  it('keep the first part of a complaint about a large mail', async () => {
    const large = `Subject: large\r\n\r\n${'x'.repeat(70)}\r\n`.repeat(80);
    expect(await app.deliver(large, `fbl@${MAIL_HOST}`)).toMatch(/^250 /);
    const [stored] = await app.feedback();
    expect(stored?.raw.toString()).toBe(`Return-Path: <>\r\n${large.slice(0, LIMITS.maxFeedbackBytes)}`);
  });

  it('are emptied after 30 days', async () => {
    await app.deliver(MESSAGE, `fbl@${MAIL_HOST}`);
    await app.deleteOld();
    expect(await app.feedback()).toHaveLength(1);
    app.clock.advance(31 * DAY);
    await app.deleteOld();
    expect(await app.feedback()).toEqual([]);
  });

  it('lose what was no complaint after a day, at the address that no person reads', async () => {
    for (const name of ['fbl', 'abuse']) await app.deliver(`${MESSAGE} ${name}`, `${name}@${MAIL_HOST}`);
    await app.deliver('Subject: known\r\n\r\nx', `fbl@${MAIL_HOST}`);
    await app.deliver('Subject: open\r\n\r\nx', `fbl@${MAIL_HOST}`);
    await app.dataSource.query(`update feedback_reports set processed_at = now(),
      disposition = case when encode(raw, 'escape') like '%known%' then 'spam_report' else 'unidentified' end
      where encode(raw, 'escape') not like '%open%'`);
    app.clock.advance(2 * DAY);
    await app.deleteOld();
    const left = await app.feedback();
    expect(left.map(({ mailbox, raw }) => [mailbox, /known|open/.exec(raw.toString())?.[0]])).toEqual([
      ['abuse', undefined],
      ['fbl', 'known'],
      ['fbl', 'open'],
    ]);
  });
});
