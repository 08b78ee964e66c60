import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { createTransport } from 'nodemailer';
import { ApiKeysService } from '../../../src/auth/keys/api-keys.service';
import { firstIdAt } from '../../../src/common/ids';
import { currentScope } from '../../../src/common/tenant';
import { ClientGoneError } from '../../../src/common/errors/app-error';
import { AcceptCommit } from '../../../src/modules/emails/accept/commit/accept-commit.service';
import { AcceptService } from '../../../src/modules/emails/accept/commit/accept.service';
import { SendRawService } from '../../../src/modules/emails/accept/send-raw.service';
import { EventsRepository } from '../../../src/modules/events/events.repository';
import { EventsService } from '../../../src/modules/events/events.service';
import { readCounters } from '../../factories/stored-email';
import { SuppressionListService } from '../../../src/modules/suppressions/suppression-list.service';
import { SubmissionSmtpServer } from '../../../src/modules/submission/submission-smtp.server';
import { waitFor } from '../../setup/wait-for';
import { RawSmtpClient } from '../inbound-smtp/raw-smtp-client';
import { plain, type Sender, SubmissionApp } from './submission-app';

const QUEUED = /^250 2\.0\.0 queued as ([0-9a-f-]{36})$/;
const idOf = (reply: string) => QUEUED.exec(reply)?.[1] ?? reply;

describe('SMTP submission', () => {
  let app: SubmissionApp;
  let acme: Sender;
  let other: Sender;
  const clients: RawSmtpClient[] = [];

  beforeAll(async () => {
    app = await SubmissionApp.start();
    [acme, other] = [await app.sender('acme.example'), await app.sender('other.example')];
  });
  afterEach(() => clients.splice(0).forEach((client) => client.close()));
  afterAll(() => app.close());

  const session = async (key = acme.key) => {
    const client = await app.session(key);
    clients.push(client);
    return client;
  };
  const message = (body = 'hi', header = '') =>
    `From: Shop <hello@acme.example>\r\nTo: a@x.example\r\n${header}\r\n${body}`;

  it('announces its extensions, and AUTH before TLS only to this machine in local mode', async () => {
    const client = await RawSmtpClient.open(app.ports.port);
    clients.push(client);
    expect(await client.reply()).toMatch(/^220 \S+ ESMTP Waybill submission$/);
    const offered = await client.command('EHLO client.example');
    for (const feature of [
      'PIPELINING',
      '8BITMIME',
      'SMTPUTF8',
      'ENHANCEDSTATUSCODES',
      'STARTTLS',
      'AUTH PLAIN LOGIN',
    ]) {
      expect(offered).toContain(`250-${feature}`);
    }
    expect(offered).toContain(`SIZE ${25 * 1024 * 1024}`);
    expect(await client.command('MAIL FROM:<a@acme.example>')).toMatch(/^530 5\.7\.0 /);
  });

  it('commits a message before its 250, as what came over SMTP', async () => {
    const client = await session();
    const reply = await app.submit(
      client,
      ['a@x.example', 'b@x.example', 'A@x.example'],
      message('hi', 'Subject: Hello\r\nX-Waybill-Tags: one\r\n'),
    );
    const { email, events, recipients, content } = await app.read(idOf(reply));
    expect(email).toMatchObject({
      organization_id: acme.organizationId,
      mode: 'live',
      subject: 'Hello',
      tags: ['one'],
    });
    expect(events).toMatchObject([{ event_type: 'queued', source: 'smtp_submission' }]);
    expect(recipients.map(({ kind }) => kind)).toEqual(['to', 'bcc']);
    expect(content).toMatchObject({ is_raw: true, html: null, text: null });
    // The session goes on.
    expect(await app.submit(client, ['c@x.example'], message())).toMatch(QUEUED);
    expect(await client.command('QUIT')).toMatch(/^221/);
  });

  it('adds a trace that tells nothing of the client', async () => {
    const client = await session();
    for (const [parameters, protocol] of [
      ['', 'ESMTPA'],
      [' SMTPUTF8 BODY=8BITMIME', 'UTF8SMTPA'],
    ]) {
      expect(await client.command(`MAIL FROM:<a@acme.example>${parameters}`)).toMatch(/^250/);
      await client.command('RCPT TO:<blind@x.example>');
      await client.command('DATA');
      const own =
        'Bcc: blind@x.example\r\nReceived: from desk by mail.acme.example; Thu, 1 Jan 2026 00:00:00 +0000\r\n';
      const id = idOf(await client.command(`${message('hi', own)}\r\n.`));
      const [part] = await app.db.query<{ content: Buffer }>(
        `select content from email_attachments where email_id = '${id}'`,
      );
      const [header = ''] = String(part?.content).split('\r\n\r\n');
      expect(header).toMatch(
        new RegExp(`^Received: by \\S+ \\(Waybill\\) with ${protocol};\r\n \\w{3}, .* \\+0000\r\nFrom: `),
      );
      expect(header).not.toMatch(/127\.0\.0\.1|blind|client\.example/);
      expect(header).toContain('Received: from desk by mail.acme.example');
    }
  });

  it('takes no argument of DATA, and goes on', async () => {
    const client = await session();
    await client.command('MAIL FROM:<a@acme.example>');
    await client.command('RCPT TO:<a@x.example>');
    expect(await client.command('DATA foo')).toMatch(/^501 5\.5\.4 /);
    expect(await client.command('data ')).toMatch(/^354/);
    expect(await client.command(`${message()}\r\n.`)).toMatch(QUEUED);
  });

  it.each([
    ['nothing', '', /^550 5\.(6\.0|7\.1) /],
    ['a header alone', 'From: a@acme.example\r\n', QUEUED],
    ['a first line that continues nothing', ' with SMTP\r\nFrom: a@acme.example\r\n\r\nhi', /^550 5\.6\.0 /],
    ['a body alone', '\r\nhi', /^550 5\.(6\.0|7\.1) /],
  ])('reads the message apart from its trace: %s', async (_what, sent, reply) => {
    expect(await app.submit(await session(), ['a@x.example'], sent)).toMatch(reply);
  });

  it('stores the same as a send over HTTP, except the source', async () => {
    const to = ['a@x.example', 'b@x.example'];
    const text = message('hi', 'Subject: Hello\r\nX-Waybill-Tags: one\r\nX-Waybill-Metadata: {"order": 7}\r\n');
    const rival = await app.sender('rival.example');
    const own = text.replaceAll('acme.example', 'rival.example');
    const raw = Buffer.from(own).toString('base64');
    const { accepted } = await app.get(SendRawService).send({ raw, to }, undefined, rival.as('live'));
    const counted = await readCounters(app.db, rival.organizationId);
    const reply = await app.submit(await session(rival.key), to, own);
    const left = async (id: string) => {
      const { email, recipients, deliveries, events } = await app.read(id);
      const { subject, tags, metadata, category, status, to_emails, track_opens } = email;
      return {
        email: { subject, tags, metadata, category, status, to_emails, track_opens },
        recipients: recipients.map(({ kind, address, status: state }) => [kind, address, state]),
        deliveries: deliveries.map(({ recipient, state, attempts }) => [recipient, state, attempts]),
        events: events.map(({ event_type, data, sequence }) => [event_type, data, sequence]),
      };
    };
    expect(await left(idOf(reply))).toEqual(await left(accepted.id));
    const twice = Object.fromEntries(Object.entries(counted).map(([name, count]) => [name, 2 * count]));
    expect(await readCounters(app.db, rival.organizationId)).toEqual(twice);
    const stream = { organizationId: rival.organizationId, mode: 'live' as const, after: firstIdAt(new Date(0)) };
    const [told = []] = await new EventsService(new EventsRepository(app.db.database)).readAfter([stream], 10);
    expect(told.map(({ eventType, source }) => [eventType, source])).toEqual([
      ['queued', 'api'],
      ['queued', 'smtp_submission'],
    ]);
  });

  it('checks the From alone: of a domain that the key may use, in one field', async () => {
    const client = await session();
    for (const from of [
      'a@other.example',
      'a@acme.example, b@acme.example',
      'a@acme.example\r\nFrom: b@acme.example',
      'me',
    ]) {
      const reply = await app.submit(client, ['a@x.example'], `From: ${from}\r\n\r\nhi`);
      expect(reply).toMatch(/^550 5\.7\.1 /);
    }
    const bound = await app.keyOf(acme, { domainId: acme.domainId });
    expect(await app.submit(await session(bound.key), ['a@x.example'], message())).toMatch(QUEUED);
  });

  it('replays an idempotency key, whatever the client writes anew', async () => {
    const client = await session();
    const keyed = (date: string, subject = 'x') =>
      message('hi', `X-Waybill-Idempotency-Key: k\r\nSubject: ${subject}\r\nDate: ${date}\r\n`);
    const first = await app.submit(client, ['a@x.example'], keyed('Mon, 2 Nov 2026 10:00:00 +0000'));
    expect(await app.submit(client, ['a@x.example'], keyed('Mon, 2 Nov 2026 10:00:01 +0000'))).toBe(first);
    expect(await app.submit(client, ['a@x.example'], keyed('x', 'other'))).toMatch(/^550 5\.7\.1 /);
  });

  it.each(['', 'X-Waybill-Idempotency-Key: late\r\n'])('refuses a time that is past for good %j', async (key) => {
    const past = message('hi', `X-Waybill-Schedule: 2020-01-01T00:00:00Z\r\n${key}`);
    expect(await app.submit(await session(), ['a@x.example'], past)).toMatch(/^550 5\.6\.0 /);
  });

  it('leaves out suppressed recipients, and refuses when all are suppressed', async () => {
    const entry = { email: 'gone@x.example', reason: 'manual' } as const;
    await app.get(SuppressionListService).add(acme.as('live'), entry);
    const client = await session();
    expect(await app.submit(client, ['gone@x.example'], message())).toMatch(/^550 5\.7\.1 /);
    const { recipients } = await app.read(idOf(await app.submit(client, ['gone@x.example', 'a@x.example'], message())));
    expect(recipients.map(({ address }) => address)).toEqual(['a@x.example']);
  });

  it.each(['root', 'www-data@my_app_1', '"a b"@x.example'])('takes any envelope sender, such as %s', async (sender) => {
    const client = await session();
    for (const line of [`MAIL FROM:<${sender}>`, 'RCPT TO:<a@x.example>']) {
      expect(await client.command(line)).toMatch(/^250 /);
    }
  });

  it('refuses bare CR and LF, and ends a message at CRLF.CRLF only', async () => {
    for (const smuggled of ['a\n.\nMAIL FROM:<evil@x.example>', 'a\r.\r\nb', 'a\n.\r\nb', 'a\r\n.\nb']) {
      const client = await session();
      expect(await app.submit(client, ['a@x.example'], message(smuggled))).toMatch(/^550 5\.6\.0 /);
      expect(client.unread).toBe('');
      expect(await client.command('NOOP')).toMatch(/^250/);
    }
    const reply = await app.submit(await session(), ['a@x.example'], message('..leading dot\r\n...two'));
    const { attachments } = await app.read(idOf(reply));
    expect(attachments[0]?.content.toString()).toMatch(/\r\n\.leading dot\r\n\.\.two\r\n$/);
  });

  it('refuses a NUL, which receivers drop or refuse, also in a body', async () => {
    const client = await session();
    expect(await app.submit(client, ['a@x.example'], message('hi\0there'))).toMatch(/^550 5\.6\.0 .* NUL character/);
    expect(await app.submit(client, ['a@x.example'], message('hi'))).toMatch(QUEUED);
  });

  it('refuses large messages, before and after they were sent', async () => {
    const client = await session();
    expect(await client.command(`MAIL FROM:<> SIZE=${26 * 1024 * 1024}`)).toMatch(/^552 5\.3\.4 /);
    const large = `${message()}\r\n${'x'.repeat(998)}\r\n`.padEnd(25 * 1024 * 1024 + 10, 'y');
    expect(await app.submit(client, ['a@x.example'], large)).toMatch(/^552 5\.3\.4 /);
    expect(await app.submit(client, ['a@x.example'], message())).toMatch(QUEUED);
  });

  it('takes 50 recipients and no more, and no address that is none', async () => {
    const client = await session();
    await client.command('MAIL FROM:<a@b.example>');
    for (let n = 0; n < 50; n += 1) expect(await client.command(`RCPT TO:<a${n}@x.example>`)).toMatch(/^250/);
    expect(await client.command('RCPT TO:<a50@x.example>')).toMatch(/^452 4\.5\.3 /);
    await client.command('RSET');
    await client.command('MAIL FROM:<>');
    expect(await client.command('RCPT TO:<"a b"@x.example>')).toMatch(/^5\d\d /);
    expect(await client.command('RCPT TO:<a@x>')).toMatch(/^553 5\.1\.3 /);
    const inLatin1 = Buffer.from('RCPT TO:<m\xfcller@x.example>\r\n', 'latin1');
    expect(await client.send(inLatin1).reply()).toMatch(/^553 5\.1\.3 /);
    expect(await client.command('RCPT TO:<müller@x.example>')).toMatch(/^250 /);
  });

  it('refuses parameters of extensions that it does not offer', async () => {
    const client = await session();
    for (const unknown of ['MT-PRIORITY=3', 'HOLDFOR=60', 'REQUIRETLS', 'SIZE=10 XVERP', 'NOTIFY=NEVER']) {
      expect(await client.command(`MAIL FROM:<a@b.example> ${unknown}`)).toMatch(/^555 5\.5\.4 /);
    }
    expect(await client.command('MAIL FROM:<a@b.example> SIZE=100 BODY=8BITMIME SMTPUTF8 AUTH=<> RET=HDRS')).toMatch(
      /^250 /,
    );
    for (const unknown of ['RRVS=2014-04-03T23:01:00Z', 'SMTPUTF8', 'BODY=8BITMIME', 'SIZE=10', 'RET=FULL']) {
      expect(await client.command(`RCPT TO:<a@x.example> ${unknown}`)).toMatch(/^555 5\.5\.4 /);
    }
    expect(await client.command('RCPT TO:<a@x.example> NOTIFY=NEVER')).toMatch(/^250 /);
  });

  it('takes a whole conversation in one packet', async () => {
    const client = await session();
    const lines = ['MAIL FROM:<>', 'RCPT TO:<a@x.example>', 'DATA'].join('\r\n');
    client.send(
      `${lines}\r\n${message()}\r\n.\r\nMAIL FROM:<>\r\nRCPT TO:<b@x.example>\r\nDATA\r\n${message()}\r\n.\r\nQUIT\r\n`,
    );
    const replies: string[] = [];
    for (let n = 0; n < 9; n += 1) replies.push((await client.reply()).slice(0, 3));
    expect(replies).toEqual(['250', '250', '354', '250', '250', '250', '354', '250', '221']);
  });

  it('loses nothing and holds nothing when a client goes in the middle of its message', async () => {
    const client = await session();
    for (const line of ['MAIL FROM:<>', 'RCPT TO:<gone-client@x.example>', 'DATA']) await client.command(line);
    client.send(`${message()}${'x'.repeat(100_000)}`).close();
    expect(await app.submit(await session(), ['a@x.example'], message())).toMatch(QUEUED);
    expect(await app.db.query(`select 1 from email_recipients where address = 'gone-client@x.example'`)).toEqual([]);
  });

  it('sends test mail with a test key', async () => {
    const { key } = await app.keyOf(acme, { mode: 'test' });
    const { email } = await app.read(idOf(await app.submit(await session(key), ['a@x.example'], message())));
    expect(email.mode).toBe('test');
  });

  it('serves 60 sessions of one client, and another tenant beside them', async () => {
    const sessions = await Promise.all(Array.from({ length: 60 }, () => session()));
    const busy = sessions.map((client) => app.submit(client, ['a@x.example'], message('x'.repeat(50_000))));
    const theirs = await app.submit(await session(other.key), ['a@x.example'], 'From: hello@other.example\r\n\r\nhi');
    expect(theirs).toMatch(QUEUED);
    for (const reply of await Promise.all(busy)) expect(reply).toMatch(QUEUED);
  });

  it('ends the sessions of a key that is revoked', async () => {
    const { key, keyId } = await app.keyOf(acme);
    const client = await session(key);
    await app.get(ApiKeysService).revokeAnywhere(keyId);
    expect(await client.reply()).toMatch(/^421 4\.7\.0 /);
    await client.untilClosed();
  });

  it('refuses wrong logins, and after ten of them the client', async () => {
    const own = await SubmissionApp.start();
    const sender = await own.sender('own.example');
    const reader = await own.keyOf(sender, { scopes: ['email:read'] });
    const attempts = [plain(sender.key, 'root'), plain(reader.key), plain('wb_live_wrong')];
    for (let n = 0; n < 10; n += 1) {
      const client = await RawSmtpClient.greeted(own.ports.port);
      clients.push(client);
      expect(await client.command(attempts[n % 3]!)).toMatch(/^535 5\.7\.8 /);
    }
    const client = await RawSmtpClient.greeted(own.ports.port);
    expect(await client.command(plain(sender.key))).toMatch(/^421 4\.7\.0 /);
    await client.untilClosed();
    await own.db.query("update throttle_hits set window_start = window_start - interval '10 minutes'");
    const later = await own.beside();
    (await later.session(sender.key)).close();
    await later.close();
    await own.close();
  });

  it('refuses the client at every process once it has failed too often at one of them', async () => {
    const own = await SubmissionApp.start({}, { maxFailures: 2 });
    const sender = await own.sender('own.example');
    const second = await own.beside();
    for (let n = 0; n < 10; n += 1) {
      const client = await RawSmtpClient.greeted(own.ports.port);
      expect(await client.command(plain('wb_live_wrong'))).toMatch(n < 2 ? /^535 5\.7\.8 / : /^421 4\.7\.0 /);
      client.close();
    }
    // Two are too few for its limit.
    (await second.session(sender.key)).close();
    await own.db.query('update throttle_hits set hits = 10');
    const further = await own.beside();
    const client = await RawSmtpClient.greeted(further.ports.port);
    expect(await client.command(plain(sender.key))).toMatch(/^421 4\.7\.0 /);
    client.close();
    for (const each of [further, second, own]) await each.close();
  });

  it('reads and writes within the organization of its key', async () => {
    const emails = app.get(SendRawService);
    const submit = emails.submit.bind(emails);
    const scopes: unknown[] = [];
    const spy = jest.spyOn(emails, 'submit').mockImplementation((...given) => {
      scopes.push(currentScope());
      return submit(...given);
    });
    expect(await app.submit(await session(), ['a@x.example'], message('hi'))).toMatch(QUEUED);
    spy.mockRestore();
    expect(scopes).toEqual([[acme.organizationId]]);
  });

  it('stops when nothing is under way any more; a message that is being sent is committed', async () => {
    const own = await SubmissionApp.start();
    const sender = await own.sender('own.example');
    const [idle, busy] = [await own.session(sender.key), await own.session(sender.key)];
    for (const line of ['MAIL FROM:<>', 'RCPT TO:<a@x.example>', 'DATA']) await busy.command(line);
    const stopped = own.get(SubmissionSmtpServer).stop();
    expect(await idle.reply()).toMatch(/^421 4\.3\.2 /);
    expect(await busy.send('From: a@own.example\r\n\r\nhi\r\n.\r\n').reply()).toMatch(QUEUED);
    expect(await busy.reply()).toMatch(/^421 4\.3\.2 /);
    await stopped;
    await own.close();
  });

  it.each([false, true])('is what Nodemailer takes for a server, with TLS from the start: %s', async (secure) => {
    const port = secure ? app.ports.implicitTlsPort : app.ports.port;
    const transport = createTransport({
      ...{ host: '127.0.0.1', port, secure, requireTLS: true },
      auth: { user: 'waybill', pass: acme.key },
      tls: { rejectUnauthorized: false },
    });
    const { response } = await transport.sendMail({
      from: 'Shop <hello@acme.example>',
      to: 'a@x.example',
      bcc: 'b@x.example',
      subject: 'Grüße',
      html: '<p>Hi</p>',
      attachments: [{ filename: 'a.txt', content: 'x' }],
    });
    const { email, attachments } = await app.read(idOf(response));
    expect(email).toMatchObject({ subject: 'Grüße', bcc_emails: ['b@x.example'] });
    expect(attachments[0]?.content.toString()).not.toMatch(/^Bcc:/im);
  });

  it("is what Python's smtplib takes for a server, where there is Python", async () => {
    const run = promisify(execFile);
    const hasPython = await run('python3', ['-c', 'import smtplib']).then(
      () => true,
      () => false,
    );
    if (!hasPython) return;
    const script = `
import smtplib, ssl, sys
context = ssl.create_default_context(); context.check_hostname = False; context.verify_mode = ssl.CERT_NONE
with smtplib.SMTP('127.0.0.1', ${app.ports.port}) as server:
    server.starttls(context=context)
    server.login('waybill', sys.argv[1])
    refused = server.sendmail('a@acme.example', ['python@x.example'], b'From: a@acme.example\\r\\nSubject: Hi\\r\\n\\r\\n.dot\\r\\n')
    assert refused == {}`;
    await run('python3', ['-c', script, acme.key]);
    expect(await app.db.query(`select 1 from email_recipients where address = 'python@x.example'`)).toHaveLength(1);
  });

  it('commits nothing for a client that has closed while its message waited', async () => {
    let release = (): void => undefined;
    const released = new Promise<void>((resolve) => (release = resolve));
    const commits = app.get(AcceptCommit);
    const run = commits.run.bind(commits);
    const begun = jest.spyOn(commits, 'run').mockImplementation(async (all) => released.then(() => run(all)));
    const submit = jest.spyOn(app.get(AcceptService), 'submit');
    const replies: Promise<string>[] = [];
    for (let count = 1; count <= 2; count += 1) {
      replies.push(app.submit(await session(), ['a@x.example'], message()));
      await waitFor(() => begun.mock.calls.length === count, { what: 'a commit' });
    }
    const leaving = await session();
    app.submit(leaving, ['gone@x.example'], message()).catch(() => undefined);
    await waitFor(() => submit.mock.calls.length === 3, { what: 'the third message' });
    leaving.close();
    await waitFor(() => submit.mock.calls[2]?.[2]?.() === true, { what: 'the end of its connection' });
    release();
    for (const reply of replies) expect(await reply).toMatch(QUEUED);
    await expect(submit.mock.results[2]?.value).rejects.toThrow(ClientGoneError);
    expect(await app.db.query(`select 1 from email_recipients where address = 'gone@x.example'`)).toEqual([]);
    jest.restoreAllMocks();
  });
});
