import { Injectable } from '@nestjs/common';
import { Clock } from '../../../common/clock';
import { AppError } from '../../../common/errors/app-error';
import type { Tenant } from '../../../common/tenant';
import { Database } from '../../../database/database.service';
import { AuditService } from '../../../audit/audit.service';
import {
  ACCESS,
  auditRecordOf,
  type PrivacyRequester,
  PrivacyRequestsService,
  type ShownRequest,
} from '../requests/privacy-requests.service';
import type { ExportResult } from './export-items';
import { ExportParts } from './export-parts.service';
import { type ExportProgress, progressOf } from './export-progress';

export interface FoundExport {
  readonly request: ShownRequest;
  /** Present as long as there is a result. */
  readonly size?: Pick<ExportProgress, 'items' | 'bytes'>;
}

/** Exports, and their results as long as they are kept. */
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

  /** Opens a result and records in the audit log who reads it. Its parts are read as they are consumed. @throws AppError export_not_available */
  async open({ apiKeyId }: PrivacyRequester, { request, size }: FoundExport): Promise<ExportResult> {
    if (!size) {
      throw new AppError('export_not_available', 'The export is not completed, or its result has been deleted');
    }
    await this.database.transaction((tx) => this.audit.record([auditRecordOf('read', request, apiKeyId)], tx));
    const { parts } = progressOf(request);
    return { read: (section) => this.parts.read(request, section, parts[section]) };
  }
}
