import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect as connectTls, type ConnectionOptions, type TLSSocket } from 'node:tls';
import { RSA_CERTIFICATE } from '../../doubles/rsa-certificate';
import { InboundApp } from '../inbound-smtp/inbound-app';
import { RawSmtpClient } from '../inbound-smtp/raw-smtp-client';
import { SubmissionApp } from './submission-app';

const folder = mkdtempSync(join(tmpdir(), 'waybill-rsa-'));
const files = { TLS_CERT_FILE: join(folder, 'cert.pem'), TLS_KEY_FILE: join(folder, 'key.pem') };
let inbound: InboundApp;
let submission: SubmissionApp;
const sockets: TLSSocket[] = [];
beforeAll(async () => {
  writeFileSync(files.TLS_CERT_FILE, RSA_CERTIFICATE.cert);
  writeFileSync(files.TLS_KEY_FILE, RSA_CERTIFICATE.key);
  inbound = await InboundApp.start({}, files);
  submission = await SubmissionApp.start(files);
});
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy();
});
afterAll(async () => {
  await inbound.close();
  await submission.close();
  rmSync(folder, { recursive: true });
});

/** A client whose handshake has ended. The server has an RSA key. */
async function handshake(port: number, starttls: boolean, options: ConnectionOptions): Promise<TLSSocket> {
  const { socket: plain } = starttls ? await startTls(port) : await RawSmtpClient.open(port);
  plain.removeAllListeners('data');
  const socket = connectTls({ socket: plain, rejectUnauthorized: false, ...options });
  sockets.push(socket);
  await new Promise((resolve, reject) => socket.once('error', reject).once('secureConnect', resolve));
  return socket.on('error', () => undefined);
}

async function startTls(port: number): Promise<RawSmtpClient> {
  const client = await RawSmtpClient.greeted(port);
  expect(await client.command('STARTTLS')).toMatch(/^220 /);
  return client;
}

describe.each([
  ['inbound', () => inbound.port, true],
  ['submission', () => submission.ports.port, true],
  ['submission with TLS from the start', () => submission.ports.implicitTlsPort!, false],
])('the port for %s', (_name, portOf, starttls) => {
  const connect = (options: ConnectionOptions) => handshake(portOf(), starttls, options);

  it('refuses a key exchange without forward secrecy', async () => {
    // `SSLV3` of OpenSSL 3.0, `SSL/TLS` of 3.5.
    const refused = { code: expect.stringMatching(/^ERR_SSL_SSL.*_ALERT_HANDSHAKE_FAILURE$/) };
    await expect(connect({ ciphers: 'kRSA', maxVersion: 'TLSv1.2' })).rejects.toMatchObject(refused);
  });

  it.each(['TLSv1.2', 'TLSv1.3'] as const)('takes one with it over %s', async (version) => {
    const socket = await connect({ minVersion: version, maxVersion: version });
    expect(socket.getProtocol()).toBe(version);
    // OpenSSL 3.5 calls those of TLS 1.3 groups.
    expect(socket.getEphemeralKeyInfo()).toMatchObject({ type: expect.stringMatching(/^(ECDH|TLSGroup)$/) });
  });

  it('refuses to negotiate again on a connection', async () => {
    const socket = await connect({ maxVersion: 'TLSv1.2' });
    const refused = new Promise((resolve) => socket.once('error', resolve));
    socket.renegotiate({ rejectUnauthorized: false }, () => undefined);
    expect(await refused).toMatchObject({ code: 'ERR_SSL_NO_RENEGOTIATION' });
  });
});
