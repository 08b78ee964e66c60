import { randomBytes } from 'node:crypto';
import { ReturnPath } from '../../../src/delivery/tokens/return-path';
import { EMAIL_ID, InboundApp, MAIL_HOST } from './inbound-app';
import { RawSmtpClient } from './raw-smtp-client';

describe('the bounce listener refuses', () => {
  let app: InboundApp;
  let client: RawSmtpClient;
  beforeAll(async () => {
    app = await InboundApp.start({ maxRefusals: 1_000 });
  });
  beforeEach(async () => {
    client = await app.client();
    await client.command('MAIL FROM:<sender@example.com>');
  });
  afterAll(() => app.close());

  const VICTIM = 'victim@example.com';

  it.each([
    ['a foreign address', `<${VICTIM}>`],
    ['a source route over us', `<@${MAIL_HOST}:${VICTIM}>`],
    ['a long source route', `<@${MAIL_HOST},@relay.example:${VICTIM}>`],
    ['the percent hack', `<victim%example.com@${MAIL_HOST}>`],
    ['the percent hack at the bounce host', '<victim%example.com@bounce.example.org>'],
    ['a nested percent hack', `<victim%example.com%relay.example@${MAIL_HOST}>`],
    ['a bang path', `<example.com!victim@${MAIL_HOST}>`],
    ['a bang path of hosts', `<relay.example!example.com!victim@${MAIL_HOST}>`],
    ['a bang path without a host', `<example.com!victim>`],
    ['a quoted address', `<"${VICTIM}"@${MAIL_HOST}>`],
    ['a quoted address alone', `<"${VICTIM}">`],
    ['a quoted route', `<"victim%example.com"@${MAIL_HOST}>`],
    ['two at signs', `<${VICTIM}@${MAIL_HOST}>`],
    ['an address literal', '<victim@[127.0.0.1]>'],
    ['an IPv6 literal', '<victim@[IPv6:::1]>'],
    ['an address of digits', '<victim@127.0.0.1>'],
    ['localhost', '<victim@localhost>'],
    ['UTF-8 in the local part', '<пользователь@example.com>'],
    ['UTF-8 in the domain', '<victim@пример.испытание>'],
    ['full-width signs', `<victim＠example.com@${MAIL_HOST}>`],
    ['no angle brackets', VICTIM],
    ['no domain', '<victim>'],
    ['an empty domain', '<victim@>'],
    ['nothing', '<>'],
    ['a postmaster elsewhere', '<postmaster@example.com>'],
    ['the feedback address elsewhere', '<fbl@example.com>'],
    ['the feedback address without a domain', '<fbl>'],
    ['the feedback address at a bounce host', '<fbl@bounce.example.org>'],
    ['a route behind the feedback address', `<fbl%example.com@${MAIL_HOST}>`],
    ['a bang path before the feedback address', `<example.com!fbl@${MAIL_HOST}>`],
    ['a quoted at sign in the feedback address', `<"fbl@example.com"@${MAIL_HOST}>`],
    ['a detail of the feedback address', `<fbl+x@${MAIL_HOST}>`],
    ['a user of the mail host', `<root@${MAIL_HOST}>`],
    ['a name that looks like our host', `<${'x'.repeat(10)}@${MAIL_HOST}.example.com>`],
    ['a bounce host without a domain', '<x@bounce>'],
    ['brackets inside', `<<${VICTIM}>>`],
    ['NUL', '<victim\0@example.com>'],
    ['a bare carriage return', `<victim\r@${MAIL_HOST}>`],
  ])('%s', async (_what, path) => {
    expect(await client.command(`RCPT TO:${path}`)).toMatch(/^5(?:50 5\.[17]\.1|01) /);
    expect(await client.command('DATA')).toMatch(/^503 /);
  });

  it('relaying and unknown addresses with codes of their own, and counts them', async () => {
    const relay = await app.count('inbound_refusals_total{reason="relay"}');
    const unknown = await app.count('inbound_refusals_total{reason="unknown-address"}');
    expect(await client.command(`RCPT TO:<${VICTIM}>`)).toMatch(/^550 5\.7\.1 /);
    expect(await client.command(`RCPT TO:<victim%example.com@${MAIL_HOST}>`)).toMatch(/^550 5\.7\.1 /);
    expect(await client.command(`RCPT TO:<root@${MAIL_HOST}>`)).toMatch(/^550 5\.1\.1 /);
    expect(await app.count('inbound_refusals_total{reason="relay"}')).toBe(relay + 2);
    expect(await app.count('inbound_refusals_total{reason="unknown-address"}')).toBe(unknown + 1);
  });

  it('a genuine token anywhere but at a bounce host', async () => {
    const local = app.issue();
    for (const host of ['example.com', `${MAIL_HOST}.example.com`, 'bounce', 'notbounce.example.com', '[127.0.0.1]']) {
      expect(await client.command(`RCPT TO:<${local}@${host}>`)).toMatch(/^550 5\.7\.1 /);
    }
  });

  it('forged tokens, as it refuses any other unknown address', async () => {
    const unknown = await client.command(`RCPT TO:<root@${MAIL_HOST}>`);
    const foreign = new ReturnPath(randomBytes(32), app.clock);
    const target = {
      organizationOrdinal: app.organization.ordinal,
      mode: 'live',
      emailId: EMAIL_ID,
      position: 0,
    } as const;
    const forged = [
      foreign.issue(target, app.clock.now()),
      app.issue({}, -1),
      app.issue({ organizationOrdinal: 999_999 }),
      app.issue({ organizationOrdinal: 4_294_967_295 }),
      app.issue().slice(2),
      app.issue().slice(0, -1),
      `${app.issue()}a`,
    ];
    for (const local of forged) expect(await client.command(`RCPT TO:<${local}@${MAIL_HOST}>`)).toBe(unknown);
  });

  it('a token of which any one character was changed', async () => {
    const local = app.issue();
    const lines = Array.from({ length: local.length - 2 }, (_each, index) => {
      const at = index + 2;
      const other = local.charAt(at) === 'a' ? 'b' : 'a';
      return `RCPT TO:<${local.slice(0, at)}${other}${local.slice(at + 1)}@${MAIL_HOST}>\r\n`;
    });
    client.send(lines.join(''));
    for (const line of lines) {
      expect([line, await client.reply()]).toEqual([line, expect.stringMatching(/^550 5\.1\.1 /)]);
    }
  });

  it('to authenticate, to encrypt, to list users, and to run old sendmail commands', async () => {
    const greeting = await client.command('EHLO client.example');
    expect(greeting).not.toMatch(/AUTH|STARTTLS|VRFY|EXPN|XCLIENT|CHUNKING/);
    expect(greeting).toContain('PIPELINING');
    expect(greeting).toContain('SIZE 26214400');
    for (const line of ['AUTH PLAIN AGEAYg==', 'STARTTLS', 'EXPN staff', 'WIZ x', 'XCLIENT ADDR=127.0.0.1']) {
      expect(await client.command(line)).toMatch(/^500 /);
    }
    const genuine = await client.command(`VRFY ${app.issue()}@${MAIL_HOST}`);
    expect(genuine).toMatch(/^252 /);
    expect(await client.command(`VRFY nobody@${MAIL_HOST}`)).toBe(genuine);
  });

  it('clients that speak before the greeting, and browsers', async () => {
    for (const opening of ['EHLO early.example\r\n', 'POST / HTTP/1.1\r\nHost: x\r\n\r\nEHLO x\r\n']) {
      const early = await RawSmtpClient.open(app.port);
      expect(await early.send(opening).reply()).toMatch(/^421 /);
      early.close();
    }
  });

  it('a foreign recipient whatever the sender claims to be', async () => {
    for (const sender of ['', `fbl@${MAIL_HOST}`, `root@${MAIL_HOST}`, `${app.issue()}@${MAIL_HOST}`]) {
      await client.command('RSET');
      await client.command(`MAIL FROM:<${sender}>`);
      expect(await client.command(`RCPT TO:<${VICTIM}>`)).toMatch(/^550 5\.7\.1 /);
      expect(await client.command('DATA')).toMatch(/^503 /);
    }
  });

  it('a foreign recipient also beside one that is ours', async () => {
    expect(await client.command(`RCPT TO:<fbl@${MAIL_HOST}>`)).toMatch(/^250 /);
    expect(await client.command(`RCPT TO:<${VICTIM}>`)).toMatch(/^550 5\.7\.1 /);
  });

  it('and stores nothing of all that', async () => {
    expect(await app.reports()).toEqual([]);
    expect(await app.feedback()).toEqual([]);
  });
});
