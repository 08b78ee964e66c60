import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { Mode } from '../../../common/tenant';

export type PrivacyRequestType = 'article_15_access' | 'article_17_erasure';
/** `pending`: waits for any worker; `processing`: a worker has it until its lease ends; the others are final. */
export type PrivacyRequestStatus = 'pending' | 'processing' | 'completed' | 'failed';
export type ExportFormat = 'json' | 'csv';

/** The key of a request. */
export type RequestKey = Pick<PrivacyRequest, 'organizationId' | 'mode' | 'id'>;

/** A request of a data subject to an organization. */
@Entity('privacy_requests')
export class PrivacyRequest {
  @PrimaryColumn('uuid', { name: 'organization_id' }) organizationId!: string;
  @PrimaryColumn('text') mode!: Mode;
  @PrimaryColumn('uuid') id!: string;
  @Column('text') type!: PrivacyRequestType;
  /** Encrypted JSON `{email, reason?}`: deleted once the subject has been erased. */
  @Column('bytea', { nullable: true }) subject!: Buffer | null;
  @Column('text', { name: 'masked_email' }) maskedEmail!: string;
  /** Keyed hash of the address's normal form. */
  @Column('bytea', { name: 'subject_hash' }) subjectHash!: Buffer;
  @Column('text', { nullable: true }) format!: ExportFormat | null;
  @Column('text') status!: PrivacyRequestStatus;
  @Column('text', { nullable: true }) failure!: string | null;
  @Column('integer', { default: 0 }) attempts!: number;
  @Column('timestamptz', { name: 'lease_until', nullable: true }) leaseUntil!: Date | null;
  /** Token of the worker that has the request: only writes with the newest token are accepted. */
  @Column('uuid', { name: 'lease_token', nullable: true }) leaseToken!: string | null;
  @Column('jsonb', { default: {} }) progress!: Record<string, unknown>;
  @Column('jsonb', { nullable: true }) receipt!: Record<string, unknown> | null;
  @Column('uuid', { name: 'api_key_id', nullable: true }) apiKeyId!: string | null;
  @Column('timestamptz', { name: 'requested_at' }) requestedAt!: Date;
  @Column('timestamptz', { name: 'completed_at', nullable: true }) completedAt!: Date | null;
  /** When an export's result is deleted; null for erasures. */
  @Column('timestamptz', { name: 'expires_at', nullable: true }) expiresAt!: Date | null;
}

export type ExportSection = 'emails' | 'events' | 'suppressions';

/** The key of a part of a request's result. */
export interface PartKey extends RequestKey {
  readonly section: ExportSection;
  readonly part: number;
}

/** An encrypted part of an export's result. */
@Entity('privacy_export_parts')
export class PrivacyExportPart {
  @PrimaryColumn('uuid', { name: 'organization_id' }) organizationId!: string;
  @PrimaryColumn('text') mode!: Mode;
  @PrimaryColumn('uuid', { name: 'request_id' }) requestId!: string;
  @PrimaryColumn('text') section!: ExportSection;
  @PrimaryColumn('integer') part!: number;
  @Column('bytea') content!: Buffer;
}
