import { Injectable } from '@nestjs/common';
import { type AuditRecord, AuditService } from '../../../audit/audit.service';
import { Clock } from '../../../common/clock';
import { NotFoundError } from '../../../common/errors/app-error';
import type { Principal } from '../../../common/http/principal';
import { isUuid, newId } from '../../../common/ids';
import { maskAddress } from '../../../common/mail-address';
import type { Tenant } from '../../../common/tenant';
import { violatedConstraint } from '../../../database/statements/database-errors';
import { Database } from '../../../database/pool/database.service';
import type { Transaction } from '../../../database/statements/transaction';
import { PrivacyExportPartsRepository, PrivacyRequestsRepository } from './privacy-requests.repository';
import { PrivacyKeyring, type PrivacySubject } from './privacy-keyring.service';
import type { ExportFormat, PrivacyRequest, PrivacyRequestType, RequestKey } from './privacy-request.entity';

/** The API key that makes a request. */
export type PrivacyRequester = Pick<Principal, 'organizationId' | 'mode' | 'apiKeyId'>;

/** A request as shown to its organization. */
export interface ShownRequest extends PrivacyRequest {
  /** The subject's address; masked once the subject has been erased. */
  readonly email: string;
}

export const ACCESS = 'article_15_access';
export const ERASURE = 'article_17_erasure';

const ATTEMPTS = 3;

/**
 * The requests of data subjects to an organization.
 *
 * pending → processing → completed | failed. Any worker may take a pending request; after a crash it stays processing until its
 * lease ends, and the next worker continues from its progress (`PrivacyWork`). The last two states are final.
 */
@Injectable()
export class PrivacyRequestsService {
  constructor(
    private readonly requests: PrivacyRequestsRepository,
    private readonly parts: PrivacyExportPartsRepository,
    private readonly keyring: PrivacyKeyring,
    private readonly audit: AuditService,
    private readonly database: Database,
    private readonly clock: Clock,
  ) {}

  /** Returns the open export of the subject in the same format, if there is one. @param email normal form */
  createExport(requester: PrivacyRequester, email: string, format: ExportFormat): Promise<ShownRequest> {
    return this.create(requester, { email }, { type: ACCESS, format });
  }

  /** Returns the open erasure of the subject, if there is one. @param subject its email in normal form */
  createErasure(requester: PrivacyRequester, subject: PrivacySubject): Promise<ShownRequest> {
    return this.create(requester, subject, { type: ERASURE, format: null });
  }

  /** @throws NotFoundError, also for a request of the other type */
  async get(tenant: Tenant, type: PrivacyRequestType, id: string): Promise<ShownRequest> {
    const request = isUuid(id) ? await this.requests.find(tenant, type, id) : null;
    if (!request) throw new NotFoundError('Privacy request');
    return this.show(request);
  }

  /** Requests of both types, newest first, with the number of all. */
  async list(tenant: Tenant, { before, skip, take }: { before: string | undefined; skip: number; take: number }) {
    const { found, total } = await this.requests.page(tenant, skip, take, before);
    return { requests: found.map((request) => this.show(request)), total };
  }

  /**
   * Ends the other requests of an erased subject as part of the erasure: they stay in the history, without the
   * address. Returns the number of exports whose result was deleted.
   */
  async closeOthers(erasure: RequestKey, email: string, tx: Transaction): Promise<number> {
    const { organizationId, mode } = erasure;
    const closed = await this.requests.closeOthers(erasure, this.keyring.hashesOf(email), this.clock.now(), tx);
    let deleted = 0;
    for (const { id, type } of closed) {
      if (type !== ACCESS) continue;
      // A separate statement, so that it sees parts that an export has committed while this transaction waited for its row.
      if ((await this.parts.deleteOf({ organizationId, mode, id }, tx)) > 0) deleted += 1;
    }
    return deleted;
  }

  private async create(
    requester: PrivacyRequester,
    subject: PrivacySubject,
    kind: Pick<PrivacyRequest, 'type' | 'format'>,
  ): Promise<ShownRequest> {
    const { organizationId, mode } = requester;
    for (let attempt = 1; ; attempt += 1) {
      const open = await this.requests.findOpen(
        { organizationId, mode, ...kind },
        this.keyring.hashesOf(subject.email),
      );
      if (open) return this.show(open);
      const request = this.newRequest(requester, subject, kind);
      try {
        await this.insert(request, requester);
        return this.show(request);
      } catch (error) {
        const isSecond = violatedConstraint(error) === 'privacy_requests_one_open';
        if (!isSecond || attempt === ATTEMPTS) throw error;
      }
    }
  }

  private async insert(request: PrivacyRequest, { apiKeyId }: PrivacyRequester): Promise<void> {
    await this.database.transaction(async (tx) => {
      await this.requests.insert(request, tx);
      await this.audit.record([auditRecordOf('requested', request, apiKeyId)], tx);
    });
  }

  private newRequest(
    { organizationId, mode, apiKeyId }: PrivacyRequester,
    subject: PrivacySubject,
    kind: Pick<PrivacyRequest, 'type' | 'format'>,
  ): PrivacyRequest {
    const key = { organizationId, mode, id: newId() };
    return {
      ...key,
      ...kind,
      subject: this.keyring.encryptSubject(subject, key),
      maskedEmail: maskAddress(subject.email),
      subjectHash: this.keyring.hashOf(subject.email),
      status: 'pending',
      apiKeyId,
      requestedAt: this.clock.now(),
      ...{ failure: null, attempts: 0, leaseUntil: null, leaseToken: null, progress: {} },
      ...{ receipt: null, completedAt: null, expiresAt: null },
    };
  }

  private show(request: PrivacyRequest): ShownRequest {
    const { subject, maskedEmail } = request;
    const isReadable = subject !== null && this.keyring.knows(subject);
    return { ...request, email: isReadable ? this.keyring.decryptSubject(subject, request).email : maskedEmail };
  }
}

const NAMES = { article_15_access: 'export', article_17_erasure: 'erasure' } as const;

/** An entry of the audit log such as `privacy.export_requested`; the address is masked. */
export function auditRecordOf(
  what: 'requested' | 'completed' | 'failed' | 'read',
  { organizationId, mode, id, type, maskedEmail, format }: PrivacyRequest,
  actor: string,
): AuditRecord {
  return {
    organizationId,
    actor,
    action: `privacy.${NAMES[type]}_${what}`,
    ...{ targetType: 'privacy_request', targetId: id },
    data: { mode, email: maskedEmail, ...(format && { format }) },
  };
}

export type { ExportFormat, PrivacyRequest, PrivacyRequestType } from './privacy-request.entity';
