import { SmtpConnection, type SmtpConnectionOptions } from '../../../src/delivery/smtp/conversation/smtp-connection';
import type { SmtpEndpoint } from '../../../src/delivery/smtp/conversation/smtp-endpoint';
import type { SmtpEnvelope } from '../../../src/delivery/smtp/conversation/smtp-envelope';
import { SmtpPool } from '../../../src/delivery/smtp/pool/smtp-pool';
import type { SmtpJob } from '../../../src/delivery/smtp/pool/smtp-job';
import type { SmtpPoolOptions } from '../../../src/delivery/smtp/pool/smtp-pool';
import type { SmtpRefusal, SmtpResult } from '../../../src/delivery/smtp/conversation/smtp-result';
import { TEST_CERTIFICATE } from '../../doubles/tls-certificate';

export const HELO_NAME = 'out.example.com';
export const MESSAGE = Buffer.from('Subject: hello\r\n\r\n.starts with a dot\r\nends\r\n');
/** More than the buffers of two sockets take, so that writing it has to wait for the receiver. */
export const HUGE_MESSAGE = Buffer.alloc(72 * 333_333, `${'x'.repeat(70)}\r\n`);
/** More than goes out in one write. */
export const LARGE_MESSAGE = HUGE_MESSAGE.subarray(0, 72 * 3_000);
/** For tests in which a limit is meant to pass. */
export const SOON = 0.03;

export function endpointOf(port: number, more: Partial<SmtpEndpoint> = {}): SmtpEndpoint {
  return {
    address: '127.0.0.1',
    port,
    hostName: TEST_CERTIFICATE.hostName,
    security: 'opportunistic',
    verifyCertificate: false,
    ...more,
  };
}

export function envelopeTo(recipient: string, more: Partial<SmtpEnvelope> = {}): SmtpEnvelope {
  return { from: 'bounces@example.com', recipient, size: MESSAGE.length, smtpUtf8: false, eightBit: false, ...more };
}

export function jobTo(recipient: string, more: Partial<SmtpJob> = {}): SmtpJob {
  return { envelope: envelopeTo(recipient), message: MESSAGE, hooks: { beforeFinalDot: () => true }, ...more };
}

/** Sends `MESSAGE` to the local part at example.org. */
export function send(connection: SmtpConnection, localPart = 'user', message = MESSAGE): Promise<SmtpResult> {
  const envelope = envelopeTo(`${localPart}@example.org`, { size: message.length });
  return connection.send(envelope, message, { beforeFinalDot: () => true });
}

/** Opens connections and pools, and destroys them after each test. */
export class SmtpClients {
  private readonly opened: { destroy(): void }[] = [];

  connection(endpoint: SmtpEndpoint, options: Partial<SmtpConnectionOptions> = {}): SmtpConnection {
    const connection = new SmtpConnection(endpoint, { heloName: HELO_NAME, ...options });
    this.opened.push(connection);
    return connection;
  }

  /** A ready connection. */
  async ready(endpoint: SmtpEndpoint, options: Partial<SmtpConnectionOptions> = {}): Promise<SmtpConnection> {
    const connection = this.connection(endpoint, options);
    expect(await connection.open()).toBeUndefined();
    return connection;
  }

  /** How opening a connection was refused. */
  async refusal(
    endpoint: SmtpEndpoint,
    options: Partial<SmtpConnectionOptions> = {},
  ): Promise<SmtpRefusal | undefined> {
    const connection = this.connection(endpoint, options);
    const refusal = await connection.open();
    expect(connection.isUsable).toBe(false);
    return refusal;
  }

  pool(endpoint: SmtpEndpoint, options: Partial<SmtpPoolOptions> = {}): SmtpPool {
    const pool = new SmtpPool(endpoint, { heloName: HELO_NAME, maxConnections: 1, ...options });
    this.opened.push(pool);
    return pool;
  }

  destroyAll(): void {
    for (const each of this.opened.splice(0)) each.destroy();
  }
}
