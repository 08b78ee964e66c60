import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import type { Repository } from 'typeorm';
import { Database } from '../../../database/database.service';
import type { Transaction } from '../../../database/transaction';
import { type PartKey, PrivacyExportPart } from './privacy-export-part.entity';
import type { RequestKey } from './privacy-request.entity';
import { deleteOldParts, type EncryptedPart, listEncryptedParts } from './sql/export-parts.sql';

@Injectable()
export class PrivacyExportPartsRepository {
  constructor(
    @InjectRepository(PrivacyExportPart) private readonly parts: Repository<PrivacyExportPart>,
    private readonly database: Database,
  ) {}

  async insert(part: PartKey & { content: Buffer }, tx: Transaction): Promise<void> {
    const { organizationId, mode, id: requestId, section, part: number, content } = part;
    await tx.manager.insert(PrivacyExportPart, { organizationId, mode, requestId, section, part: number, content });
  }

  async find({ organizationId, mode, id: requestId, section, part }: PartKey): Promise<Buffer | undefined> {
    return (await this.parts.findOneBy({ organizationId, mode, requestId, section, part }))?.content;
  }

  /** Returns how many there were. */
  async deleteOf({ organizationId, mode, id: requestId }: RequestKey, tx: Transaction): Promise<number> {
    const { affected } = await tx.manager.delete(PrivacyExportPart, { organizationId, mode, requestId });
    return affected ?? 0;
  }

  /** Of all organizations: those whose time is up at `now`. Returns how many were deleted. */
  async deleteOld(now: Date, limit: number): Promise<number> {
    return (await this.database.run(deleteOldParts(now, limit))).length;
  }

  /** Of all organizations, in the order of their keys. */
  encrypted(limit: number, after?: EncryptedPart): Promise<EncryptedPart[]> {
    return this.database.run(listEncryptedParts(limit, after));
  }

  /** False when it is no longer as it was read. */
  async replace(row: EncryptedPart, content: Buffer): Promise<boolean> {
    const { organizationId, mode, id: requestId, section, part, content: asRead } = row;
    const key = { organizationId, mode, requestId, section, part, content: asRead };
    return (await this.parts.update(key, { content })).affected === 1;
  }
}
