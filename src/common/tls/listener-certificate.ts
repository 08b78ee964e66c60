import { X509Certificate } from 'node:crypto';
import { mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { createSecureContext } from 'node:tls';
import { Logger } from '@nestjs/common';
import { type Clock, DAY, SECOND } from '../clock';
import { OperatorError } from '../errors/app-error';
import type { Metrics } from '../metrics/metrics';
import { type Certificate, selfSigned } from './self-signed';

const EVERY_MS = 5 * SECOND;
/** Renewal is usual a month before the end; with so little left it has failed. */
const WARNING_MS = 14 * DAY;

/** PEM files. */
export interface CertificateFiles {
  readonly certificateFile: string;
  readonly keyFile: string;
}

export interface CertificateSource {
  /** As configured. */
  readonly files: CertificateFiles | undefined;
  /** Where this machine makes and keeps one by itself when none is configured; undefined: it makes none. */
  readonly ownFolder?: string | undefined;
}

/**
 * The certificate of a listener: of the files that are configured, read again when they change; else one that this machine
 * makes itself and keeps. Without either there is no TLS.
 */
export class ListenerCertificate {
  private readonly logger;
  private readonly expiry;
  private version = '';
  /** State of the files, and when their validity was last logged. */
  private used: { readonly pair: Certificate; readonly warnedAtMs: number } | undefined;

  /** @param listener whose it is, in the log and as a label */
  constructor(
    private readonly listener: string,
    private readonly source: CertificateSource,
    private readonly clock: Clock,
    metrics: Metrics,
  ) {
    this.logger = new Logger(listener);
    const help = 'When the certificate in use by a listener expires; absent without TLS';
    this.expiry = metrics.gauge({ name: 'tls_certificate_expiry_timestamp_seconds', help, labels: ['listener'] });
  }

  /** Undefined: no TLS. @throws Error that names the variables for files that are no certificate and key */
  async load(): Promise<Certificate | undefined> {
    const { files, ownFolder } = this.source;
    if (!files) return ownFolder === undefined ? undefined : this.showExpiry(await this.ownCertificate(ownFolder));
    try {
      this.version = await versionOf(files);
      const pair = await readPair(files);
      this.warnWhenInvalid(pair);
      return this.showExpiry(pair);
    } catch (cause) {
      throw new OperatorError(`TLS_CERT_FILE and TLS_KEY_FILE: ${(cause as Error).message}`, { cause });
    }
  }

  /** Calls `use` with each new certificate until the returned function is called. Files that are no pair change nothing. */
  watch(use: (certificate: Certificate) => void): () => void {
    if (!this.source.files) return () => undefined;
    const timer = setInterval(() => void this.reload(use), EVERY_MS).unref();
    return () => clearInterval(timer);
  }

  /** Checks once whether the files have changed. */
  async reload(use: (certificate: Certificate) => void): Promise<void> {
    const { files } = this.source;
    if (!files) return;
    const version = await versionOf(files).catch(() => this.version);
    if (version === this.version) return this.warnDaily();
    this.version = version;
    try {
      const pair = await readPair(files);
      use(this.showExpiry(pair));
      this.logger.log('The certificate has been read again');
      this.warnWhenInvalid(pair);
    } catch (error) {
      this.logger.error(`The new certificate cannot be used, the one before stays: ${(error as Error).message}`);
    }
  }

  private showExpiry(pair: Certificate): Certificate {
    const expiresAtMs = Date.parse(new X509Certificate(pair.cert).validTo);
    this.expiry.set({ listener: this.listener.toLowerCase() }, expiresAtMs / SECOND);
    return pair;
  }

  private warnDaily(): void {
    const { used } = this;
    if (used && this.clock.now().getTime() - used.warnedAtMs >= DAY) this.warnWhenInvalid(used.pair);
  }

  /** It is used all the same: a sender that checks no certificate is better served with it than in plaintext. */
  private warnWhenInvalid(pair: Certificate): void {
    const { validFrom, validTo } = new X509Certificate(pair.cert);
    const now = this.clock.now().getTime();
    this.used = { pair, warnedAtMs: now };
    const leftMs = Date.parse(validTo) - now;
    const which = `The certificate in ${this.source.files?.certificateFile}`;
    if (leftMs <= 0) this.logger.error(`${which} expired on ${validTo}: clients that check it refuse the connection`);
    else if (Date.parse(validFrom) > now) this.logger.error(`${which} is not valid before ${validFrom}`);
    else if (leftMs < WARNING_MS) this.logger.warn(`${which} expires on ${validTo}`);
  }

  private async ownCertificate(folder: string): Promise<Certificate> {
    const files = { certificateFile: path.join(folder, 'cert.pem'), keyFile: path.join(folder, 'key.pem') };
    const known = await readPair(files).catch(() => undefined);
    if (known) return known;
    const made = selfSigned(this.clock.now());
    await mkdir(folder, { recursive: true, mode: 0o700 });
    await writeFile(files.keyFile, made.key, { mode: 0o600 });
    await writeFile(files.certificateFile, made.cert, { mode: 0o600 });
    return made;
  }
}

/** @throws Error for what is no pair */
async function readPair({ certificateFile, keyFile }: CertificateFiles): Promise<Certificate> {
  const [cert, key] = await Promise.all([readFile(certificateFile, 'utf8'), readFile(keyFile, 'utf8')]);
  createSecureContext({ cert, key });
  return { cert, key };
}

async function versionOf({ certificateFile, keyFile }: CertificateFiles): Promise<string> {
  const stats = await Promise.all([stat(certificateFile), stat(keyFile)]);
  return stats.map(({ mtimeMs, size }) => `${mtimeMs} ${size}`).join(' ');
}
