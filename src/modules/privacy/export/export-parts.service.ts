import { promisify } from 'node:util';
import { deflateRaw, inflateRaw } from 'node:zlib';
import { Injectable } from '@nestjs/common';
import type { Transaction } from '../../../database/transaction';
import type { ExportSection, PartKey, RequestKey } from '../requests/privacy-request.entity';
import { PrivacyKeyring } from '../requests/privacy-keyring.service';
import { PrivacyExportPartsRepository } from '../requests/privacy-requests.repository';

const [deflate, inflate] = [promisify(deflateRaw), promisify(inflateRaw)];

/** Compressed first: ciphertext cannot be compressed. */
export interface EncryptedPart extends PartKey {
  readonly content: Buffer;
}

/** The parts of an export's result: text, compressed and encrypted. */
@Injectable()
export class ExportParts {
  constructor(
    private readonly parts: PrivacyExportPartsRepository,
    private readonly keyring: PrivacyKeyring,
  ) {}

  async encrypt(text: string, key: PartKey): Promise<EncryptedPart> {
    return { ...key, content: this.keyring.encryptPart(await deflate(text), key) };
  }

  async write(parts: readonly EncryptedPart[], tx: Transaction): Promise<void> {
    for (const part of parts) await this.parts.insert(part, tx);
  }

  /** The texts of a section's first `count` parts, in order, one at a time. @throws Error when one is no longer there */
  async *read({ organizationId, mode, id }: RequestKey, section: ExportSection, count: number): AsyncGenerator<string> {
    for (let part = 0; part < count; part += 1) {
      const key = { organizationId, mode, id, section, part };
      const encrypted = await this.parts.find(key);
      if (!encrypted) throw new Error('The result was deleted while it was read');
      yield (await inflate(this.keyring.decryptPart(encrypted, key))).toString();
    }
  }
}
