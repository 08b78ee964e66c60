import { mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { createSecureContext } from 'node:tls';
import { Injectable, Logger } from '@nestjs/common';
import { Clock, SECOND } from '../../common/clock';
import { type Certificate, selfSigned } from '../../common/tls/self-signed';
import { AppConfig } from '../../config/config';

const EVERY_MS = 5 * SECOND;

/**
 * The certificate of the listener: of the files that are configured, read again when they change; in local mode one that
 * this machine makes itself and keeps in its data directory. Without either there is no TLS.
 */
@Injectable()
export class SubmissionCertificate {
  private readonly logger = new Logger('Submission');
  private version = '';

  constructor(
    private readonly config: AppConfig,
    private readonly clock: Clock,
  ) {}

  /** Undefined: no TLS. @throws Error that names the variables for files that are no certificate and key */
  async load(): Promise<Certificate | undefined> {
    const { certificateFile, keyFile } = this.config.submission;
    if (certificateFile === undefined || keyFile === undefined) return this.ownCertificate();
    try {
      this.version = await versionOf(certificateFile, keyFile);
      return await readPair(certificateFile, keyFile);
    } catch (cause) {
      throw new Error(`TLS_CERT_FILE and TLS_KEY_FILE: ${(cause as Error).message}`, { cause });
    }
  }

  /** Calls `use` with each new certificate until the returned function is called. Files that are no pair change nothing. */
  watch(use: (certificate: Certificate) => void): () => void {
    const { certificateFile, keyFile } = this.config.submission;
    if (certificateFile === undefined || keyFile === undefined) return () => undefined;
    const timer = setInterval(() => void this.reload(certificateFile, keyFile, use), EVERY_MS).unref();
    return () => clearInterval(timer);
  }

  /** Looks once whether the files have changed. */
  async reload(certificateFile: string, keyFile: string, use: (certificate: Certificate) => void): Promise<void> {
    const version = await versionOf(certificateFile, keyFile).catch(() => this.version);
    if (version === this.version) return;
    this.version = version;
    try {
      use(await readPair(certificateFile, keyFile));
      this.logger.log('The certificate has been read again');
    } catch (error) {
      this.logger.error(`The new certificate cannot be used, the one before stays: ${(error as Error).message}`);
    }
  }

  private async ownCertificate(): Promise<Certificate | undefined> {
    if (this.config.delivery.mode !== 'local') return undefined;
    const folder = path.join(this.config.dataDir, 'submission');
    const [certificateFile, keyFile] = [path.join(folder, 'cert.pem'), path.join(folder, 'key.pem')];
    const known = await readPair(certificateFile, keyFile).catch(() => undefined);
    if (known) return known;
    const made = selfSigned(this.clock.now());
    await mkdir(folder, { recursive: true, mode: 0o700 });
    await writeFile(keyFile, made.key, { mode: 0o600 });
    await writeFile(certificateFile, made.cert, { mode: 0o600 });
    return made;
  }
}

/** @throws Error for what is no pair */
async function readPair(certificateFile: string, keyFile: string): Promise<Certificate> {
  const [cert, key] = await Promise.all([readFile(certificateFile, 'utf8'), readFile(keyFile, 'utf8')]);
  createSecureContext({ cert, key });
  return { cert, key };
}

async function versionOf(...files: readonly string[]): Promise<string> {
  const stats = await Promise.all(files.map((file) => stat(file)));
  return stats.map(({ mtimeMs, size }) => `${mtimeMs} ${size}`).join(' ');
}
