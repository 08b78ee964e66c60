import { promisify } from 'node:util';
import { deflateRaw, inflateRaw } from 'node:zlib';
import { Injectable } from '@nestjs/common';
import type { Transaction } from '../../../database/transaction';
import type { ExportSection } from '../privacy-export-part.entity';
import type { PartKey, RequestKey } from '../privacy-keys';
import { PrivacyVault } from '../privacy-vault.service';
import { ExportPartsRepository } from './export-parts.repository';

const [deflate, inflate] = [promisify(deflateRaw), promisify(inflateRaw)];

/** Compressed first: what is sealed cannot be compressed any more. */
export interface SealedPart extends PartKey {
  readonly content: Buffer;
}

/** The parts of an export's result: text, compressed and sealed. */
@Injectable()
export class ExportParts {
  constructor(
    private readonly parts: ExportPartsRepository,
    private readonly vault: PrivacyVault,
  ) {}

  async seal(text: string, key: PartKey): Promise<SealedPart> {
    return { ...key, content: this.vault.sealPart(await deflate(text), key) };
  }

  async write(parts: readonly SealedPart[], tx: Transaction): Promise<void> {
    for (const part of parts) await this.parts.insert(part, tx);
  }

  /** The texts of a section's first `count` parts, in order, one at a time. @throws Error when one is no longer there */
  async *read({ organizationId, mode, id }: RequestKey, section: ExportSection, count: number): AsyncGenerator<string> {
    for (let part = 0; part < count; part += 1) {
      const key = { organizationId, mode, id, section, part };
      const sealed = await this.parts.find(key);
      if (!sealed) throw new Error('The result was deleted while it was read');
      yield (await inflate(this.vault.openPart(sealed, key))).toString();
    }
  }

  /** Answers how many there were. */
  deleteOf(request: RequestKey, tx: Transaction): Promise<number> {
    return this.parts.deleteOf(request, tx);
  }

  /** Of all organizations: those whose time is up. Answers how many were deleted, at most `limit`. */
  deleteOld(now: Date, limit: number): Promise<number> {
    return this.parts.deleteOld(now, limit);
  }
}
