import { X509Certificate } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TLSSocket } from 'node:tls';
import { ListenerCertificate } from '../../../src/common/tls/listener-certificate';
import { type Certificate, selfSigned } from '../../../src/common/tls/self-signed';
import { TEST_CERTIFICATE } from '../../doubles/tls-certificate';
import { waitFor } from '../../setup/wait-for';
import { InboundApp } from './inbound-app';
import { RawSmtpClient } from './raw-smtp-client';

const printOf = (cert: string) => new X509Certificate(cert).fingerprint256;
const printOn = ({ socket }: RawSmtpClient) => (socket as TLSSocket).getPeerX509Certificate()?.fingerprint256;

describe('the inbound listener with a certificate', () => {
  const folder = mkdtempSync(join(tmpdir(), 'waybill-inbound-tls-'));
  const files = { TLS_CERT_FILE: join(folder, 'cert.pem'), TLS_KEY_FILE: join(folder, 'key.pem') };
  const secured: RawSmtpClient[] = [];
  let renew: (certificate: Certificate) => void = () => undefined;
  let app: InboundApp;
  beforeAll(async () => {
    writeFileSync(files.TLS_CERT_FILE, TEST_CERTIFICATE.cert);
    writeFileSync(files.TLS_KEY_FILE, TEST_CERTIFICATE.key);
    jest.spyOn(ListenerCertificate.prototype, 'watch').mockImplementation((use) => {
      renew = use;
      return () => undefined;
    });
    app = await InboundApp.start({ maxConnectionsOfClient: 4 }, files);
  });
  afterEach(() => {
    for (const client of secured.splice(0)) client.close();
  });
  afterAll(async () => {
    await app.close();
    rmSync(folder, { recursive: true });
  });

  /** A connection that has been encrypted, and has not greeted since. */
  async function encrypted(plain?: RawSmtpClient): Promise<RawSmtpClient> {
    const from = plain ?? (await app.client());
    expect(await from.command('STARTTLS')).toMatch(/^220 /);
    const client = await from.secured();
    secured.push(client);
    return client;
  }

  it('offers STARTTLS, once, and takes reports over it; AUTH stays unknown', async () => {
    const plain = await RawSmtpClient.open(app.port);
    await plain.reply();
    expect(await plain.command('EHLO client.example')).toContain('STARTTLS');
    expect(await plain.command('STARTTLS now')).toMatch(/^501 /);
    const client = await encrypted(plain);
    expect(printOn(client)).toBe(printOf(TEST_CERTIFICATE.cert));
    expect(await client.command('EHLO client.example')).not.toMatch(/STARTTLS|AUTH/);
    expect(await client.command('STARTTLS')).toMatch(/^5/);
    expect(await client.command('AUTH PLAIN AGEAYg==')).toMatch(/^5/);
    for (const line of ['MAIL FROM:<>', `RCPT TO:<${app.issue()}@bounce.example.org>`]) {
      expect(await client.command(line)).toMatch(/^250 /);
    }
    await client.command('DATA');
    expect(await client.send('Subject: over TLS\r\n\r\nGone\r\n.\r\n').reply()).toMatch(/^250 2\.6\.0 /);
    const raws = (await app.reports()).map(({ raw }) => raw.toString());
    expect(raws).toEqual([expect.stringMatching(/Subject: over TLS\r\n\r\nGone\r\n$/)]);
  });

  it('runs nothing that was sent in the clear behind STARTTLS, and forgets what came before (RFC 3207 section 4.2)', async () => {
    const plain = await app.client();
    expect(await plain.command('MAIL FROM:<before@x.example>')).toMatch(/^250 /);
    const rcpt = `RCPT TO:<${app.issue()}@bounce.example.org>`;
    const behind = Array.from({ length: 300 }, () => 'NOOP').join('\r\n');
    plain.send(`STARTTLS\r\nEHLO evil.example\r\nMAIL FROM:<evil@x.example>\r\n${rcpt}\r\n${behind}\r\nDATA\r\n`);
    expect(await plain.reply()).toMatch(/^220 /);
    const client = await plain.secured();
    secured.push(client);
    expect(await client.command('MAIL FROM:<after@x.example>')).toMatch(/^503 /);
    expect(await client.command('EHLO client.example')).toMatch(/^250/);
    expect(await client.command(rcpt)).toMatch(/^503 /);
    expect(await client.command('DATA')).toMatch(/^503 /);
    expect(await client.command('QUIT')).toMatch(/^221 /);
    expect(await client.untilClosed()).toBe('');
  });

  it('gives the place of an encrypted connection back, whether its handshake succeeds or not', async () => {
    for (let count = 0; count < 9; count += 1) {
      const plain = await greetedOnceThereIsRoom();
      if (count % 3 === 0) (await encrypted(plain)).close();
      else {
        expect(await plain.command('STARTTLS')).toMatch(/^220 /);
        if (count % 3 === 1) await plain.send('EHLO this.is.no.handshake\r\n').untilClosed();
        else plain.close();
      }
    }
  });

  it('shows a renewed certificate to the next', async () => {
    const next = selfSigned(new Date());
    renew(next);
    expect(printOn(await encrypted(await greetedOnceThereIsRoom()))).toBe(printOf(next.cert));
  });

  /** The listener detects an end a moment after the client. */
  function greetedOnceThereIsRoom(): Promise<RawSmtpClient> {
    return waitFor(
      async () => {
        const client = await RawSmtpClient.open(app.port);
        secured.push(client);
        if (!(await client.reply()).startsWith('220')) return undefined;
        await client.command('EHLO client.example');
        return client;
      },
      { what: 'a place' },
    );
  }
});

it('refuses to start with files that are no certificate, naming the variables', async () => {
  const missing = join(tmpdir(), 'waybill-there-is-no-such-file');
  await expect(InboundApp.start({}, { TLS_CERT_FILE: missing, TLS_KEY_FILE: missing })).rejects.toThrow(
    'TLS_CERT_FILE and TLS_KEY_FILE',
  );
});
