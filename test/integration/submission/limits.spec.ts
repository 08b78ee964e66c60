import { once } from 'node:events';
import { connect } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { X509Certificate } from 'node:crypto';
import { createTransport } from 'nodemailer';
import { Clock } from '../../../src/common/clock';
import { selfSigned } from '../../../src/common/tls/self-signed';
import { ListenerCertificate } from '../../../src/common/tls/listener-certificate';
import { SubmissionLogin } from '../../../src/modules/submission/submission-login';
import { TEST_CERTIFICATE } from '../../doubles/tls-certificate';
import { RawSmtpClient } from '../inbound-smtp/raw-smtp-client';
import { waitFor } from '../../setup/wait-for';
import { peerCertificate, plain, SubmissionApp } from './submission-app';

const OUTSIDE = { DELIVERY_MODE: 'relay', RELAY_URL: 'smtp://127.0.0.1:9' };
const printOf = (cert: string) => new X509Certificate(cert).fingerprint256;

describe('submission outside of local mode', () => {
  const folder = mkdtempSync(join(tmpdir(), 'waybill-tls-'));
  const files = { TLS_CERT_FILE: join(folder, 'cert.pem'), TLS_KEY_FILE: join(folder, 'key.pem') };
  const apps: SubmissionApp[] = [];
  const start = async (env: Record<string, string>, limits = {}) => {
    const app = await SubmissionApp.start({ ...OUTSIDE, ...env }, limits);
    apps.push(app);
    return app;
  };

  function write({ key, cert }: { key: string; cert: string }, at: number): void {
    writeFileSync(files.TLS_CERT_FILE, cert);
    writeFileSync(files.TLS_KEY_FILE, key);
    for (const file of Object.values(files)) utimesSync(file, at, at);
  }

  afterEach(async () => {
    for (const app of apps.splice(0)) await app.close();
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it('offers and takes no login without a certificate', async () => {
    const app = await start({});
    expect(app.ports.implicitTlsPort).toBeUndefined();
    const { key } = await app.sender('acme.example');
    const client = await RawSmtpClient.open(app.ports.port);
    await client.reply();
    const offered = await client.command('EHLO client.example');
    expect(offered).not.toMatch(/AUTH|STARTTLS/);
    expect(await client.command(plain(key))).toMatch(/^5/);
    expect(await client.command('MAIL FROM:<>')).toMatch(/^530 5\.7\.0 /);
    client.close();
  });

  it('takes logins after STARTTLS only, and forgets none that it never took', async () => {
    write(TEST_CERTIFICATE, 1_000);
    const app = await start(files);
    const { key } = await app.sender('acme.example');
    const client = await RawSmtpClient.open(app.ports.port);
    await client.reply();
    expect(await client.command('EHLO client.example')).not.toContain('AUTH');
    for (const login of [plain(key), 'auth login']) {
      expect(await client.command(login)).toMatch(/^530 5\.7\.0 Must issue a STARTTLS command first/);
    }
    client.close();
    const transport = createTransport({
      ...{ host: '127.0.0.1', port: app.ports.port, requireTLS: true, tls: { rejectUnauthorized: false } },
      auth: { user: 'waybill', pass: key },
    });
    const mail = { from: 'a@acme.example', to: 'b@x.example', subject: 'x', text: 'y' };
    expect((await transport.sendMail(mail)).response).toMatch(/^250 2\.0\.0 queued as /);
  });

  it('shows a new certificate once its files have changed, and the one before while they are no pair', async () => {
    write(TEST_CERTIFICATE, 1_000);
    const app = await start(files);
    const port = app.ports.implicitTlsPort!;
    expect(await peerCertificate(port)).toBe(printOf(TEST_CERTIFICATE.cert));
    const certificate = app.get(ListenerCertificate);
    const used: string[] = [];
    const look = () => certificate.reload(({ cert }) => void used.push(printOf(cert)));
    const next = selfSigned(new Date());
    write({ cert: next.cert, key: TEST_CERTIFICATE.key }, 2_000);
    await look();
    write(next, 3_000);
    await look();
    await look();
    expect(used).toEqual([printOf(next.cert)]);
  });

  it('refuses to start with files that are no certificate, naming the variables', async () => {
    write({ cert: 'none', key: 'none' }, 4_000);
    await expect(SubmissionApp.start({ ...OUTSIDE, ...files })).rejects.toThrow('TLS_CERT_FILE and TLS_KEY_FILE');
  });
});

describe('the limits of submission', () => {
  const MESSAGE = 'From: a@acme.example\r\n\r\nhi';

  it('query once for the keys of sessions while the database is slow, and still disconnect clients without a login', async () => {
    const app = await SubmissionApp.start({}, { unprovenMs: 2_000, sweepMs: 20 });
    const { key } = await app.sender('acme.example');
    await app.session(key);
    const check = jest.spyOn(app.get(SubmissionLogin), 'check').mockReturnValue(new Promise(() => undefined));
    const silent = await RawSmtpClient.greeted(app.ports.port);
    expect(await silent.reply()).toMatch(/^421 4\.7\.0 /);
    expect(check).toHaveBeenCalledTimes(1);
    await app.close();
  });

  it('put off what is too much for a key (450), an organization or a client (421), and cut who does not log in', async () => {
    const app = await SubmissionApp.start(
      { RATE_LIMITS: '{"send": 2}' },
      { maxSessionsOfOrganization: 2, maxSessionsOfClient: 4, unprovenMs: 2_000, sweepMs: 100 },
    );
    const [acme, other] = [await app.sender('acme.example'), await app.sender('other.example')];
    const [first] = [await app.session(acme.key), await app.session(acme.key)];
    await expect(app.session(acme.key)).rejects.toThrow(/^421 4\.7\.0 /);
    const theirs = await app.session(other.key);
    for (let n = 0; n < 2; n += 1) expect(await app.submit(first, ['a@x.example'], MESSAGE)).toMatch(/^250/);
    expect(await app.submit(first, ['a@x.example'], MESSAGE)).toMatch(/^450 4\.7\.1 /);
    const silent = await RawSmtpClient.greeted(app.ports.port);
    const fifth = await RawSmtpClient.open(app.ports.port);
    expect(await fifth.reply()).toMatch(/^421 4\.7\.0 /);
    expect(await silent.reply()).toMatch(/^421 4\.7\.0 /);
    expect(await app.submit(theirs, ['a@x.example'], MESSAGE.replace('acme', 'other'))).toMatch(/^250/);
    await app.close();
  });

  it.each(['port', 'implicitTlsPort'] as const)(
    'leave room on %s beside a client that holds its connections and says nothing',
    async (which) => {
      const app = await SubmissionApp.start({}, { maxSessions: 3, maxSessionsOfClient: 2 });
      const port = app.ports[which] ?? 0;
      const silent = Array.from({ length: 6 }, () => connect(port, '127.0.0.1').on('error', () => undefined));
      await waitFor(() => silent.filter(({ closed }) => closed).length >= 3, {
        what: 'half of the connections are refused',
      });
      const socket = connect({ port, host: '127.0.0.1', localAddress: '127.0.0.2' });
      const other = which === 'port' ? socket : connectTls({ socket, rejectUnauthorized: false });
      const [greeting] = (await once(other, 'data')) as [Buffer];
      expect(greeting.toString()).toMatch(/^220 /);
      for (const one of [...silent, other]) one.destroy();
      await app.close();
    },
  );

  it('leave room however many clients hold connections and say nothing, and end no session with a login', async () => {
    const app = await SubmissionApp.start({}, { maxSessions: 4, maxSessionsOfClient: 2 });
    const { key } = await app.sender('acme.example');
    const client = await app.session(key);
    const silent: RawSmtpClient[] = [];
    for (const address of ['127.0.0.2', '127.0.0.2', '127.0.0.3', '127.0.0.4', '127.0.0.5']) {
      silent.push(await RawSmtpClient.open(app.ports.port, address));
      expect(await silent.at(-1)?.reply()).toMatch(/^220 /);
    }
    // The oldest of the client that had most, then the oldest of all.
    expect(await silent[0]?.reply()).toMatch(/^421 4\.7\.0 /);
    expect(await silent[1]?.reply()).toMatch(/^421 4\.7\.0 /);
    expect(await app.submit(client, ['a@x.example'], MESSAGE)).toMatch(/^250/);
    for (const one of [client, ...silent]) one.close();
    await app.close();
  });

  it('leave room beside sessions of the same address that do not log in, but not at the cost of those that may be about to', async () => {
    const app = await SubmissionApp.start({}, { maxSessionsOfClient: 3, contestedMs: 1_000 });
    const { key } = await app.sender('acme.example');
    const clock = jest.spyOn(app.get(Clock), 'monotonicMs');
    const atMs = app.get(Clock).monotonicMs();
    clock.mockReturnValue(atMs);
    const clients = [await app.session(key)];
    const silent: RawSmtpClient[] = [];
    for (const _each of [1, 2]) silent.push(await RawSmtpClient.greeted(app.ports.port));
    const further = async () => {
      const client = await RawSmtpClient.open(app.ports.port);
      return client.reply().finally(() => client.close());
    };
    expect(await further()).toMatch(/^421 4\.7\.0 /);
    clock.mockReturnValue(atMs + 1_000);
    clients.push(await app.session(key));
    expect(await silent[0]?.reply()).toMatch(/^421 4\.7\.0 /);
    clients.push(await app.session(key));
    expect(await silent[1]?.reply()).toMatch(/^421 4\.7\.0 /);
    expect(await further()).toMatch(/^421 4\.7\.0 /);
    for (const client of clients) expect(await app.submit(client, ['a@x.example'], MESSAGE)).toMatch(/^250/);
    for (const one of [...clients, ...silent]) one.close();
    await app.close();
  });

  it('give the place of a connection back that began TLS with STARTTLS', async () => {
    const app = await SubmissionApp.start({}, { maxSessions: 2 });
    for (let session = 0; session < 4; session += 1) {
      const transport = createTransport({
        ...{ host: '127.0.0.1', port: app.ports.port, requireTLS: true, tls: { rejectUnauthorized: false } },
      });
      expect(await transport.verify()).toBe(true);
      transport.close();
    }
    await app.close();
  });

  it('say 451 while the database is away', async () => {
    const app = await SubmissionApp.start();
    const { key } = await app.sender('acme.example');
    const client = await app.session(key);
    app.proxy.cut();
    expect(await app.submit(client, ['a@x.example'], MESSAGE)).toMatch(/^451 4\.3\.0 /);
    app.proxy.restore();
    client.close();
    await app.close();
  });
});
