import { promisify } from 'node:util';
import { deflateRaw, inflateRaw } from 'node:zlib';
import { Injectable } from '@nestjs/common';
import { AuditService } from '../../../audit/audit.service';
import { Clock } from '../../../common/clock';
import { DiskSpace } from '../../../common/disk-space';
import { AppError } from '../../../common/errors/app-error';
import type { Tenant } from '../../../common/tenant';
import { Database } from '../../../database/pool/database.service';
import type { Transaction } from '../../../database/statements/transaction';
import { PrivacyKeyring } from '../requests/privacy-keyring.service';
import type { ExportSection, PartKey, RequestKey } from '../requests/privacy-request.entity';
import { PrivacyExportPartsRepository } from '../requests/privacy-requests.repository';
import {
  ACCESS,
  auditRecordOf,
  type PrivacyRequester,
  PrivacyRequestsService,
  type ShownRequest,
} from '../requests/privacy-requests.service';
import { type ExportResult, type ExportProgress, progressOf } from './export-items';

const [deflate, inflate] = [promisify(deflateRaw), promisify(inflateRaw)];

/** A part of a result; it is compressed before encryption, since ciphertext cannot be compressed. */
export interface EncryptedPart extends PartKey {
  readonly content: Buffer;
}

/** Stores and reads the parts of an export's result: text, compressed and encrypted. */
@Injectable()
export class ExportParts {
  constructor(
    private readonly parts: PrivacyExportPartsRepository,
    private readonly keyring: PrivacyKeyring,
    private readonly disk: DiskSpace,
  ) {}

  /**
   * Runs the transaction that writes these parts, if there is room for them.
   * @throws UnavailableError, DiskShareError
   */
  whenRoom(parts: readonly EncryptedPart[], holder: string, write: () => Promise<void>): Promise<void> {
    return this.disk.take({ bytes: parts.reduce((sum, { content }) => sum + content.length, 0), holder }, write);
  }

  async encrypt(part: Buffer, key: PartKey): Promise<EncryptedPart> {
    return { ...key, content: this.keyring.encryptPart(await deflate(part), key) };
  }

  async write(parts: readonly EncryptedPart[], tx: Transaction): Promise<void> {
    for (const part of parts) await this.parts.insert(part, tx);
  }

  /** Yields the texts of a section's first `count` parts in order. @throws Error when one has been deleted */
  async *read({ organizationId, mode, id }: RequestKey, section: ExportSection, count: number): AsyncGenerator<string> {
    for (let part = 0; part < count; part += 1) {
      const key = { organizationId, mode, id, section, part };
      const encrypted = await this.parts.find(key);
      if (!encrypted) throw new Error('The result was deleted while it was read');
      yield (await inflate(this.keyring.decryptPart(encrypted, key))).toString();
    }
  }
}

export interface FoundExport {
  readonly request: ShownRequest;
  /** Size of the result, present as long as the result is kept. */
  readonly size?: Pick<ExportProgress, 'items' | 'bytes'>;
}

/** Finds exports and opens their results. */
@Injectable()
export class ExportsService {
  constructor(
    private readonly requests: PrivacyRequestsService,
    private readonly parts: ExportParts,
    private readonly audit: AuditService,
    private readonly database: Database,
    private readonly clock: Clock,
  ) {}

  /** @throws NotFoundError */
  async find(tenant: Tenant, id: string): Promise<FoundExport> {
    const request = await this.requests.get(tenant, ACCESS, id);
    const { status, expiresAt, subject } = request;
    const isKept = status === 'completed' && subject !== null && expiresAt !== null && expiresAt > this.clock.now();
    return isKept ? { request, size: progressOf(request) } : { request };
  }

  /** Opens a result and records the reader in the audit log. Parts are read as they are consumed. @throws AppError export_not_available */
  async open({ apiKeyId }: PrivacyRequester, { request, size }: FoundExport): Promise<ExportResult> {
    if (!size) {
      throw new AppError('export_not_available', 'The export is not completed, or its result has been deleted');
    }
    await this.database.transaction((tx) => this.audit.record([auditRecordOf('read', request, apiKeyId)], tx));
    const { parts } = progressOf(request);
    return { read: (section) => this.parts.read(request, section, parts[section]) };
  }
}
