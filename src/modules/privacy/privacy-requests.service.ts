import { Injectable } from '@nestjs/common';
import { NotFoundError } from '../../common/errors/app-error';
import { isUuid, newId } from '../../common/ids';
import { Clock } from '../../common/clock';
import { maskAddress } from '../../common/mail-address';
import { violatedConstraint } from '../../database/database-errors';
import { Database } from '../../database/database.service';
import { AuditService } from '../../audit/audit.service';
import type { ExportFormat, PrivacyRequest, PrivacyRequestType } from './privacy-request.entity';
import { requestEvent } from './privacy-event';
import { type PrivacyOwner, PrivacyRequestsRepository } from './privacy-requests.repository';
import { type PrivacySubject, PrivacyVault } from './privacy-vault.service';

/** Who asks: an API key of an organization. */
export interface PrivacyRequester extends PrivacyOwner {
  readonly apiKeyId: string;
}

/** A request as its organization may see it. */
export interface ShownRequest extends PrivacyRequest {
  /** The subject's address; masked once the subject has been erased. */
  readonly email: string;
}

export const ACCESS = 'article_15_access';
export const ERASURE = 'article_17_erasure';

const ATTEMPTS = 3;

/**
 * What data subjects ask an organization for.
 *
 * pending → processing → completed | failed. A pending request is for any worker; a worker that dies leaves it processing
 * until its lease ends, and the next one goes on from its progress (`PrivacyWork`). The ends are final.
 */
@Injectable()
export class PrivacyRequestsService {
  constructor(
    private readonly requests: PrivacyRequestsRepository,
    private readonly vault: PrivacyVault,
    private readonly audit: AuditService,
    private readonly database: Database,
    private readonly clock: Clock,
  ) {}

  /** Asked again while the first is open, with the same format, it answers that one. @param email normal form */
  createExport(requester: PrivacyRequester, email: string, format: ExportFormat): Promise<ShownRequest> {
    return this.create(requester, { email }, { type: ACCESS, format });
  }

  /** Asked again while the first is open, it answers that one. @param subject its email in normal form */
  createErasure(requester: PrivacyRequester, subject: PrivacySubject): Promise<ShownRequest> {
    return this.create(requester, subject, { type: ERASURE, format: null });
  }

  /** @throws NotFoundError for one of another type as well */
  async get(owner: PrivacyOwner, type: PrivacyRequestType, id: string): Promise<ShownRequest> {
    const request = isUuid(id) ? await this.requests.find(owner, type, id) : null;
    if (!request) throw new NotFoundError('Privacy request');
    return this.show(request);
  }

  /** Of both types, newest first, with how many there are. */
  async list(owner: PrivacyOwner, { offset, limit }: { offset: number; limit: number }) {
    const [requests, total] = await this.requests.page(owner, offset, limit);
    return { requests: requests.map((request) => this.show(request)), total };
  }

  private async create(
    requester: PrivacyRequester,
    subject: PrivacySubject,
    kind: Pick<PrivacyRequest, 'type' | 'format'>,
  ): Promise<ShownRequest> {
    const { organizationId, mode } = requester;
    for (let attempt = 1; ; attempt += 1) {
      const open = await this.requests.findOpen({ organizationId, mode, ...kind }, this.vault.hashesOf(subject.email));
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
      await this.audit.record([requestEvent('requested', request, apiKeyId)], tx);
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
      subject: this.vault.sealSubject(subject, key),
      maskedEmail: maskAddress(subject.email),
      subjectHash: this.vault.hashOf(subject.email),
      status: 'pending',
      apiKeyId,
      requestedAt: this.clock.now(),
      ...{ failure: null, attempts: 0, leaseUntil: null, leaseToken: null, progress: {} },
      ...{ receipt: null, completedAt: null, expiresAt: null },
    };
  }

  private show(request: PrivacyRequest): ShownRequest {
    const { subject, maskedEmail } = request;
    const isReadable = subject !== null && this.vault.knows(subject);
    return { ...request, email: isReadable ? this.vault.openSubject(subject, request).email : maskedEmail };
  }
}

export type { ExportFormat, PrivacyRequest, PrivacyRequestType } from './privacy-request.entity';
