import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { In, IsNull, LessThan, type Repository } from 'typeorm';
import type { Tenant } from '../../../common/tenant';
import { Database } from '../../../database/pool/database.service';
import type { Transaction } from '../../../database/statements/transaction';
import {
  type PartKey,
  PrivacyExportPart,
  PrivacyRequest,
  type PrivacyRequestStatus,
  type PrivacyRequestType,
  type RequestKey,
} from './privacy-request.entity';
import { boundTurns } from './sql/bound-turns.sql';
import {
  type ClosedRequest,
  closeRequests,
  deleteOldParts,
  type EncryptedPart,
  type EncryptedSubject,
  listEncryptedParts,
  listEncryptedSubjects,
  hasRequests,
  lockTurn,
  oldestFailed,
} from './sql/privacy-requests.sql';

const OPEN: readonly PrivacyRequestStatus[] = ['pending', 'processing'];

export type SimilarRequest = Pick<PrivacyRequest, 'organizationId' | 'mode' | 'type' | 'format'>;
export type Lease = RequestKey & { readonly leaseToken: string };
export type RequestChanges = Partial<
  Pick<PrivacyRequest, 'status' | 'failure' | 'attempts' | 'leaseUntil' | 'progress' | 'completedAt' | 'expiresAt'>
> & { receipt?: object | null; subject?: null; leaseToken?: string | null };

/** Exports and erasures, with the leases of the processes that work on them. */
@Injectable()
export class PrivacyRequestsRepository {
  constructor(
    @InjectRepository(PrivacyRequest) private readonly requests: Repository<PrivacyRequest>,
    private readonly database: Database,
  ) {}

  /** An SQL condition: whether any of a type is open, leased or not. */
  hasOpen(type: PrivacyRequestType): string {
    return hasRequests(type);
  }

  find({ organizationId, mode }: Tenant, type: PrivacyRequestType, id: string): Promise<PrivacyRequest | null> {
    return this.requests.findOneBy({ organizationId, mode, type, id });
  }

  /** An open request of the same type about one of these subjects. */
  findOpen(like: SimilarRequest, hashes: readonly Buffer[]): Promise<PrivacyRequest | null> {
    const { organizationId, mode, type, format } = like;
    return this.requests.findOneBy({
      ...{ organizationId, mode, type, format: format ?? IsNull() },
      ...{ subjectHash: In([...hashes]), status: In([...OPEN]) },
    });
  }

  /** Newest first, with the number of all. @param before only those older than this one */
  async page({ organizationId, mode }: Tenant, skip: number, take: number, before?: string) {
    const all = { organizationId, mode };
    const where = before === undefined ? all : { ...all, id: LessThan(before) };
    const found = await this.requests.find({ where, order: { id: 'DESC' }, skip, take });
    return { found, total: await this.requests.countBy(all) };
  }

  /** When the oldest open request of all organizations was made; null when none is open. */
  async oldestOpen(): Promise<Date | null> {
    const oldest = await this.requests.findOne({ where: { status: In([...OPEN]) }, order: { requestedAt: 'ASC' } });
    return oldest && oldest.requestedAt;
  }

  /** When the oldest request was made that has failed and is not answered; of those made after `since`. Null: there is none. */
  async oldestFailed(since: Date): Promise<Date | null> {
    return (await this.database.run(oldestFailed(since)))[0]?.requestedAt ?? null;
  }

  /** When the newest completed erasure of all organizations was made; null without one. */
  async newestErasure(): Promise<Date | null> {
    const completed = { type: 'article_17_erasure', status: 'completed' } as const;
    const newest = await this.requests.findOne({ where: completed, order: { completedAt: 'DESC' } });
    return newest && newest.completedAt;
  }

  /** Violates `privacy_requests_one_open` when there is an open one of the same kind about the same subject. */
  async insert(request: PrivacyRequest, tx: Transaction): Promise<void> {
    await tx.manager.insert(PrivacyRequest, request as never);
  }

  /**
   * The request whose turn it is, of an organization with an id greater than `after`, see the statement; locked until the
   * transaction ends.
   */
  async lockTurn(type: PrivacyRequestType, now: Date, after: string, tx: Transaction): Promise<PrivacyRequest | null> {
    const [key] = await tx.run(lockTurn(type, now, after));
    if (!key) await tx.run(boundTurns(now));
    return key ? tx.manager.findOneBy(PrivacyRequest, { ...key }) : null;
  }

  async lease(request: PrivacyRequest, lease: RequestChanges, tx: Transaction): Promise<void> {
    const { organizationId, mode, id } = request;
    await tx.manager.update(PrivacyRequest, { organizationId, mode, id }, lease as never);
  }

  /** Attempts since the last progress, including the current one. */
  async attemptsOf({ organizationId, mode, id }: Lease, tx: Transaction): Promise<number> {
    return (await tx.manager.findOneBy(PrivacyRequest, { organizationId, mode, id }))?.attempts ?? 0;
  }

  /** Returns false, and writes nothing, when the lease has been lost. */
  async change(
    { organizationId, mode, id, leaseToken }: Lease,
    changes: RequestChanges,
    tx: Transaction,
  ): Promise<boolean> {
    const held = { organizationId, mode, id, leaseToken, status: 'processing' as const };
    return (await tx.manager.update(PrivacyRequest, held, changes as never)).affected === 1;
  }

  /** Ends the other requests of an erased subject, see the statement; returns the changed ones. */
  closeOthers(erasure: RequestKey, hashes: readonly Buffer[], now: Date, tx: Transaction): Promise<ClosedRequest[]> {
    return tx.run(closeRequests(erasure, hashes, now));
  }

  /** A page over all organizations, in the order of keys, for a change of the master key. */
  encryptedSubjects(limit: number, after?: EncryptedSubject): Promise<EncryptedSubject[]> {
    return this.database.run(listEncryptedSubjects(limit, after));
  }

  /** Returns false when the row has changed since it was read. */
  async replaceSubject(row: EncryptedSubject, subject: Buffer, subjectHash: Buffer): Promise<boolean> {
    const { organizationId, mode, id, subject: asRead } = row;
    const key = { organizationId, mode, id, subject: asRead };
    return (await this.requests.update(key, { subject, subjectHash })).affected === 1;
  }
}

/** The encrypted parts of export results. */
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

  /** Deletes the parts of a request; returns their number. */
  async deleteOf({ organizationId, mode, id: requestId }: RequestKey, tx: Transaction): Promise<number> {
    return (await tx.manager.delete(PrivacyExportPart, { organizationId, mode, requestId })).affected ?? 0;
  }

  /** Deletes expired parts of all organizations; returns their number. */
  async deleteOld(now: Date, limit: number): Promise<number> {
    return (await this.database.run(deleteOldParts(now, limit))).length;
  }

  /** A page over all organizations, in the order of keys, for a change of the master key. */
  encrypted(limit: number, after?: EncryptedPart): Promise<EncryptedPart[]> {
    return this.database.run(listEncryptedParts(limit, after));
  }

  /** Returns false when the row has changed since it was read. */
  async replace(row: EncryptedPart, content: Buffer): Promise<boolean> {
    const { organizationId, mode, id: requestId, section, part, content: asRead } = row;
    const key = { organizationId, mode, requestId, section, part, content: asRead };
    return (await this.parts.update(key, { content })).affected === 1;
  }
}
