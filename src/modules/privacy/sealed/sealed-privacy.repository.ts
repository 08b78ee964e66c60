import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import type { Repository } from 'typeorm';
import { Database } from '../../../database/database.service';
import { PrivacyExportPart } from '../privacy-export-part.entity';
import { PrivacyRequest } from '../privacy-request.entity';
import { listSealedParts, type SealedPartRow } from './sql/list-sealed-parts.sql';
import { listSealedSubjects, type SealedSubjectRow } from './sql/list-sealed-subjects.sql';

const SUBJECTS = 100;
/** Of about 1 MiB each. */
const PARTS = 16;

@Injectable()
export class SealedPrivacyRepository {
  constructor(
    @InjectRepository(PrivacyRequest) private readonly requests: Repository<PrivacyRequest>,
    @InjectRepository(PrivacyExportPart) private readonly exportParts: Repository<PrivacyExportPart>,
    private readonly database: Database,
  ) {}

  /** One at a time, read in pages. */
  async *subjects(): AsyncGenerator<SealedSubjectRow> {
    let page = await this.database.run(listSealedSubjects(SUBJECTS));
    while (page.length > 0) {
      yield* page;
      page = await this.database.run(listSealedSubjects(SUBJECTS, page.at(-1)));
    }
  }

  /** One at a time, read in pages. */
  async *parts(): AsyncGenerator<SealedPartRow> {
    let page = await this.database.run(listSealedParts(PARTS));
    while (page.length > 0) {
      yield* page;
      page = await this.database.run(listSealedParts(PARTS, page.at(-1)));
    }
  }

  /** False when it is no longer as it was read. */
  async replaceSubject(row: SealedSubjectRow, subject: Buffer, subjectHash: Buffer): Promise<boolean> {
    const { organizationId, mode, id, subject: asRead } = row;
    const changed = { subject, subjectHash };
    return (await this.requests.update({ organizationId, mode, id, subject: asRead }, changed)).affected === 1;
  }

  /** False when it is no longer as it was read. */
  async replacePart(row: SealedPartRow, content: Buffer): Promise<boolean> {
    const { organizationId, mode, id: requestId, section, part, content: asRead } = row;
    const key = { organizationId, mode, requestId, section, part, content: asRead };
    return (await this.exportParts.update(key, { content })).affected === 1;
  }
}
