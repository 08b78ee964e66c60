import { Client } from 'pg';
import { SmtpPool } from '../../../src/delivery/smtp/pool/smtp-pool';
import { waitFor } from '../../setup/wait-for';
import { RawSmtpClient } from '../inbound-smtp/raw-smtp-client';
import { message, MailboxApp } from './mailbox-app';

const MIB = 1024 * 1024;
const MESSAGE = message(['From: Ada <ada@example.org>', 'Subject: Hello'], ['It works.']);

interface Row {
  id: string;
  recipients: string[];
  return_path: string;
  raw: Buffer;
  size: number;
}

describe('the listener of the mailbox', () => {
  let app: MailboxApp;
  let pool: SmtpPool;
  beforeAll(async () => {
    app = await MailboxApp.start();
    pool = poolTo(app.smtpPort);
  });
  afterEach(() => app.query('delete from mailbox_messages'));
  afterAll(async () => {
    pool.destroy();
    await app.close();
  });

  const rows = () => app.query<Row>('select * from mailbox_messages order by id');

  it('is one listener however often it is requested', async () => {
    expect(await app.listenAgain()).toBe(app.smtpPort);
  });

  it('keeps what comes, byte for byte, with its envelope', async () => {
    const raw = Buffer.from(`${MESSAGE}\r\n.dots\r\n\xff\0\r\n`, 'latin1');
    const id = await app.deliver(raw, ['one@example.com', 'zwei@bücher.example']);
    expect(await rows()).toEqual([
      {
        id,
        received_at: app.clock.now(),
        return_path: 'from@example.org',
        recipients: ['one@example.com', 'zwei@bücher.example'],
        sender: 'Ada <ada@example.org>',
        subject: 'Hello',
        size: raw.length + 2,
        raw: Buffer.concat([raw, Buffer.from('\r\n')]),
        organization_id: null,
      },
    ]);
  });

  it('takes the null sender, a message without header and an empty one', async () => {
    const client = await RawSmtpClient.greeted(app.smtpPort);
    for (const body of ['no header here\r\n', '']) {
      await client.command('MAIL FROM:<>');
      await client.command('RCPT TO:<a@example.com>');
      await client.command('DATA');
      expect(await client.send(`${body}.\r\n`).reply()).toMatch(/^250 /);
    }
    client.close();
    expect(await rows()).toMatchObject([
      { return_path: '', subject: '', sender: '', size: 16 },
      { return_path: '', subject: '', sender: '', size: 0 },
    ]);
  });

  it('offers what our own client uses, and neither encryption nor logins', async () => {
    const client = await RawSmtpClient.open(app.smtpPort);
    expect(await client.reply()).toMatch(/^220 /);
    const greeting = await client.command('EHLO client.example');
    for (const feature of ['PIPELINING', '8BITMIME', 'SMTPUTF8', `SIZE ${50 * MIB}`]) {
      expect(greeting).toContain(feature);
    }
    expect(greeting).not.toMatch(/AUTH|STARTTLS/);
    expect(await client.command(`MAIL FROM:<a@example.org> SIZE=${51 * MIB}`)).toMatch(/^552 5\.3\.4 /);
    client.close();
  });

  it('takes many at once from our own client, and keeps the newest thousand', async () => {
    const results = await Promise.all(Array.from({ length: 1_150 }, (_each, index) => send(pool, index)));
    expect(new Set(results)).toEqual(new Set(['accepted']));
    const [kept] = await app.query<{ count: number }>('select count(*)::int as count from mailbox_messages');
    expect(kept?.count).toBeGreaterThanOrEqual(1_000);
    expect(kept?.count).toBeLessThanOrEqual(1_100);
    await send(pool, 1_150);
    expect((await app.messages())[0]?.subject).toBe('Number 1150');
  });

  it('takes a large message', async () => {
    const body = `${'x'.repeat(1_022)}\r\n`.repeat(20 * 1_024);
    await app.deliver(`Subject: large\r\n\r\n${body}`);
    // Within the time limit of a statement, also on a busy machine.
    const lengths = 'select length(raw) as bytes, size from mailbox_messages order by id';
    const [row] = await app.query<{ bytes: number; size: number }>(lengths);
    expect(row?.bytes).toBe(row?.size);
    expect(row?.size).toBeGreaterThan(20 * MIB);
  });
});

describe('the end of the application', () => {
  it('is the end of the listener, also for clients that stay', async () => {
    const app = await MailboxApp.start();
    const client = await RawSmtpClient.greeted(app.smtpPort);
    await app.close();
    expect(await client.reply()).toMatch(/^421 /);
    await client.untilClosed();
    await expect(RawSmtpClient.open(app.smtpPort)).rejects.toThrow('ECONNREFUSED');
  });
});

describe('a mailbox that is found full', () => {
  it('is brought within its bytes by the first message', async () => {
    const app = await MailboxApp.start();
    await app.query(`
      insert into mailbox_messages (id, return_path, recipients, sender, subject, size, raw)
      select uuid_v7_floor(now() - make_interval(secs => n)), '', '{a@example.com}', '', n::text, ${10 * MIB}, 'x'
      from generate_series(1, 40) n`);
    const id = await app.deliver(MESSAGE);
    const left = await app.messages();
    expect(left.map(({ subject }) => subject)).toEqual([
      'Hello',
      ...Array.from({ length: 17 }, (_each, n) => `${n + 1}`),
    ]);
    expect(left[0]?.id).toBe(id);
    await app.close();
  });
});

describe('while the database is not well', () => {
  let app: MailboxApp;
  let other: Client;
  beforeEach(async () => {
    app = await MailboxApp.start();
    other = new Client(app.databaseUrl);
    await other.connect();
    await other.query('begin; lock table mailbox_messages in access exclusive mode');
  });
  afterEach(async () => {
    await other.end();
    await app.close();
  });

  const LOCKED = "select pid from pg_stat_activity where wait_event_type = 'Lock' and query like '%mailbox_messages%'";
  const waiting = () =>
    waitFor(async () => (await app.query<{ pid: number }>(LOCKED))[0]?.pid, { what: 'an insert that waits' });

  it('there is no 250 without a commit', async () => {
    const delivered = app.deliver(MESSAGE);
    const answered = jest.fn();
    void delivered.then(answered);
    await waiting();
    expect(answered).not.toHaveBeenCalled();
    await other.query('commit');
    const id = await delivered;
    expect(await app.messages()).toMatchObject([{ id }]);
  });

  it('a message that cannot be kept is put off', async () => {
    const delivered = app.deliver(MESSAGE);
    await other.query('select pg_terminate_backend($1)', [await waiting()]);
    expect(await delivered).toBe('451 4.3.0 The mailbox is temporarily unavailable');
    await other.query('rollback');
    expect(await app.messages()).toEqual([]);
  });
});

function poolTo(port: number): SmtpPool {
  const endpoint = {
    address: '127.0.0.1',
    port,
    hostName: '127.0.0.1',
    security: 'none',
    verifyCertificate: false,
  } as const;
  return new SmtpPool(endpoint, { heloName: 'out.example.org', maxConnections: 10 });
}

/** A refusal is for a time only (the database takes one too many), so it is tried again, as clients do. */
async function send(pool: SmtpPool, index: number): Promise<string> {
  const bytes = Buffer.from(message([`Subject: Number ${index}`], ['x', '']));
  const envelope = {
    from: 'from@example.org',
    recipient: `to+${index}@example.com`,
    size: bytes.length,
    smtpUtf8: false,
    eightBit: false,
  };
  for (;;) {
    const result = await pool.send({ envelope, message: bytes, hooks: { beforeFinalDot: () => true } });
    if (result.kind !== 'rejected' || result.reply.code >= 500) return result.kind;
  }
}
