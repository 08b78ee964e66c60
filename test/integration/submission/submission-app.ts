import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect as connectTls } from 'node:tls';
import { ApiKeysService } from '../../../src/auth/keys/api-keys.service';
import type { Scope } from '../../../src/common/http/scopes';
import type { Mode } from '../../../src/common/tenant';
import { SubmissionLimits } from '../../../src/modules/submission/submission-login';
import { SubmissionModule } from '../../../src/modules/submission/submission.module';
import { type SubmissionPorts, SubmissionSmtpServer } from '../../../src/modules/submission/submission-smtp.server';
import { TcpProxy } from '../../doubles/tcp-proxy';
import { readStoredEmail } from '../../factories/stored-email';
import { contextOf, type Core, processOf, testConfig } from '../../setup/core-context';
import { createSigningTenant } from '../../setup/delivery-scene';
import type { Tenant } from '../../factories/tenants';
import { type OpenTestDatabase, openTestDatabase } from '../../setup/open-test-database';
import { RawSmtpClient } from '../inbound-smtp/raw-smtp-client';

export interface Sender extends Tenant {
  readonly key: string;
  readonly keyId: string;
}

/** The submission role of one process on a database of its own. */
export class SubmissionApp {
  private constructor(
    readonly db: OpenTestDatabase,
    private readonly core: Core,
    readonly ports: SubmissionPorts,
    /** Between the process and its database. */
    readonly proxy: TcpProxy,
    readonly close: () => Promise<void>,
  ) {}

  static async start(env: Record<string, string> = {}, limits: Partial<SubmissionLimits> = {}): Promise<SubmissionApp> {
    const db = await openTestDatabase({ poolSize: 3, applicationName: 'observer' });
    return SubmissionApp.on(db, env, limits, () => db.drop());
  }

  /** A further process on the same database. */
  beside(): Promise<SubmissionApp> {
    return SubmissionApp.on(this.db, {}, {}, () => Promise.resolve());
  }

  private static async on(
    db: OpenTestDatabase,
    env: Record<string, string>,
    limits: Partial<SubmissionLimits>,
    drop: () => Promise<void>,
  ): Promise<SubmissionApp> {
    const { proxy, url } = await TcpProxy.before(db.url);
    const dataDir = await mkdtemp(join(tmpdir(), 'waybill-submission-'));
    const ports = { SUBMISSION_PORT: '0', SUBMISSIONS_PORT: '0', HOST: '127.0.0.1' };
    const config = testConfig({ ...ports, WAYBILL_DATA_DIR: dataDir, DRAIN_SECONDS: '5', ...env });
    const module = await processOf({ config, databaseUrl: url, imports: [SubmissionModule] })
      .overrideProvider(SubmissionLimits)
      .useValue(Object.assign(new SubmissionLimits(), limits))
      .compile();
    const core = await contextOf(module);
    const closeAll = async () => {
      await core.close();
      await proxy.stop();
      await drop();
      await rm(dataDir, { recursive: true, force: true });
    };
    try {
      return new SubmissionApp(db, core, await core.get(SubmissionSmtpServer).listen(), proxy, closeAll);
    } catch (error) {
      await closeAll();
      throw error;
    }
  }

  get<T>(type: abstract new (...args: never[]) => T): T {
    return this.core.get(type);
  }

  async sender(name: string, { mode = 'live', scopes = ['email:send'] }: KeyOptions = {}): Promise<Sender> {
    const tenant = await createSigningTenant(this.core, name);
    return { ...tenant, ...(await this.keyOf(tenant, { mode, scopes })) };
  }

  async keyOf({ organizationId }: Tenant, { mode = 'live', scopes = ['email:send'], domainId }: KeyOptions = {}) {
    const wanted = { name: 'smtp', mode, scopes, ...(domainId && { domainId }) };
    const { key, id: keyId } = await this.get(ApiKeysService).create(organizationId, wanted);
    return { key, keyId };
  }

  read(id: string) {
    return readStoredEmail(this.db, id);
  }

  /** A session that has logged in, in the clear, which local mode allows on this machine. */
  async session(key: string): Promise<RawSmtpClient> {
    const client = await RawSmtpClient.greeted(this.ports.port);
    const reply = await client.command(plain(key));
    if (!reply.startsWith('235')) throw new Error(reply);
    return client;
  }

  /** Sends one message over a session; returns the reply to its end. */
  async submit(client: RawSmtpClient, to: readonly string[], message: string | Buffer): Promise<string> {
    for (const line of ['MAIL FROM:<>', ...to.map((address) => `RCPT TO:<${address}>`), 'DATA']) {
      const reply = await client.command(line);
      if (!/^[23]/.test(reply)) return reply;
    }
    return client.send(message).send('\r\n.\r\n').reply();
  }
}

interface KeyOptions {
  readonly mode?: Mode;
  readonly scopes?: readonly Scope[];
  readonly domainId?: string;
}

export function plain(key: string, user = 'waybill'): string {
  return `AUTH PLAIN ${Buffer.from(`\0${user}\0${key}`).toString('base64')}`;
}

/** The certificate that a port shows, and whether it is encrypted from the start. */
export function peerCertificate(port: number): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connectTls({ port, host: '127.0.0.1', rejectUnauthorized: false });
    socket.once('error', reject).once('secureConnect', () => {
      resolve(socket.getPeerX509Certificate()?.fingerprint256 ?? '');
      socket.destroy();
    });
  });
}
