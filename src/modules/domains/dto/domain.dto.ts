import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { IsBoolean, IsOptional, IsString } from 'class-validator';
import type { DomainDetail } from '../domain-details.service';
import type { DkimStatus, VerificationStatus, WarmingStatus } from '../registry/domain.entity';
import { RECORD_PURPOSES, type RecordPurpose } from '../registry/wanted-records';
import type { PublishedRecord, VerificationReport } from '../verification/record-state';

export const VERIFICATION_STATUSES = ['pending', 'verified', 'failed'] as const satisfies VerificationStatus[];
const DKIM_STATUSES = ['pending', 'verified', 'failed'] as const satisfies DkimStatus[];
const WARMING_STATUSES = ['not_started', 'warming', 'warmed', 'paused'] as const satisfies WarmingStatus[];
const RESTRICTIONS = ['slowed', 'paused'] as const;
const RESTRICTION_REASONS = ['bounces', 'complaints', 'operator'] as const;

const NULLABLE_DATE = { type: String, nullable: true, format: 'date-time' };
const NULLABLE_INTEGER = { type: 'integer' as const, nullable: true };
const NULLABLE_STRING = { type: String, nullable: true };

/** Body of `POST /v1/domains`. */
export class AddDomainDto {
  @ApiProperty({
    minLength: 4,
    maxLength: 253,
    example: 'mail.example.com',
    description:
      'A host name; case, a last dot and Unicode spelling are normalized. No public suffix, no name of this service',
  })
  @IsString()
  domain!: string;
}

const REQUIRE_TLS =
  'Mail from the domain is sent over encrypted connections only; where a receiver offers none, it waits and finally bounces';

/** Body of `PATCH /v1/domains/{id}`. */
export class ChangeDomainDto {
  @ApiPropertyOptional({ description: REQUIRE_TLS }) @IsOptional() @IsBoolean() require_tls?: boolean;
}

class DnsRecordDto {
  @ApiProperty({ enum: ['TXT', 'CNAME', 'MX'] }) type!: string;
  @ApiProperty({ description: 'Fully qualified, without the last dot', example: '_waybill.mail.example.com' })
  host!: string;
  @ApiProperty({ example: 'waybill-verification=0123456789abcdef0123456789abcdef' }) value!: string;
  @ApiProperty({ enum: RECORD_PURPOSES }) purpose!: RecordPurpose;
  @ApiProperty({ description: 'Whether the last DNS check found it' }) verified!: boolean;
  @ApiProperty({ type: 'integer', description: 'Seconds', example: 300 }) ttl!: number;
  @ApiProperty({ ...NULLABLE_INTEGER, description: 'Only for MX records, else null' }) priority!: number | null;
  @ApiPropertyOptional({ description: 'What the last DNS check found wrong, in a sentence' }) problem?: string;
  @ApiPropertyOptional({
    type: [String],
    description: 'After a verification: the values found in its place, at most 5 of 300 characters',
  })
  found?: string[];
}

/** A domain with the records to publish. Absent values are null here, unlike elsewhere in the API. */
export class DomainDto {
  @ApiProperty({ format: 'uuid' }) id!: string;
  @ApiProperty({ example: 'mail.example.com' }) domain!: string;
  @ApiProperty({ enum: VERIFICATION_STATUSES }) verification_status!: VerificationStatus;
  @ApiProperty({ enum: WARMING_STATUSES }) warming_status!: WarmingStatus;
  @ApiProperty({ description: 'Used when a sender names no domain' }) is_default!: boolean;
  @ApiProperty({ type: [DnsRecordDto], description: 'To publish in DNS' }) records!: DnsRecordDto[];
  @ApiProperty({ format: 'date-time' }) created_at!: string;
  @ApiProperty({ format: 'date-time' }) updated_at!: string;
  @ApiProperty({ ...NULLABLE_STRING, description: 'The labels before the registrable domain', example: 'mail' })
  subdomain!: string | null;
  @ApiProperty(NULLABLE_DATE) verified_at!: string | null;
  @ApiProperty({
    ...NULLABLE_STRING,
    description: 'Selector of the newest key, which signs as soon as its record is found',
    example: 'wb1',
  })
  dkim_selector!: string | null;
  @ApiProperty({ enum: DKIM_STATUSES }) dkim_status!: DkimStatus;
  @ApiProperty({
    ...NULLABLE_INTEGER,
    description: 'Recipients per day while the domain warms up; null without a limit',
  })
  warming_current_limit!: number | null;
  @ApiProperty({
    type: 'integer',
    minimum: 0,
    maximum: 100,
    description: '100 while too little has been sent for a score',
  })
  reputation_score!: number;
  @ApiProperty({ description: REQUIRE_TLS }) require_tls!: boolean;
  @ApiPropertyOptional({ enum: RESTRICTIONS, description: 'Only while the domain is slowed or paused' })
  sending_status?: (typeof RESTRICTIONS)[number];
  @ApiPropertyOptional({ enum: RESTRICTION_REASONS, description: 'The reason for `sending_status`' })
  sending_status_reason?: (typeof RESTRICTION_REASONS)[number];
}

/** Response of `POST /v1/domains/{id}/verify`; `errors` has a sentence for each record that is missing or wrong. */
export class DomainVerificationDto {
  @ApiProperty({ description: 'Whether the ownership record was found' }) success!: boolean;
  @ApiProperty({
    enum: VERIFICATION_STATUSES,
    description: 'The status of the domain: it stays verified for 72 hours after its record has disappeared',
  })
  status!: VerificationStatus;
  @ApiProperty({ description: 'The ownership record is in DNS' }) domain_verified!: boolean;
  @ApiProperty({ description: 'The record of the key that signs is in DNS' }) dkim_verified!: boolean;
  @ApiProperty({ type: [String], description: 'What is missing or wrong, a sentence for each record' })
  errors!: string[];
  @ApiProperty({ type: [DnsRecordDto] }) records!: DnsRecordDto[];
}

/** The score of a domain that has sent too little for one of its own. */
const DEFAULT_SCORE = 100;

/** The sending status is present only while the domain is restricted. */
export function toDomainDto({ domain, records, warmingCurrentLimit }: DomainDetail): DomainDto {
  const { status, reason } = domain.sending;
  return {
    id: domain.id,
    domain: domain.domain,
    verification_status: domain.verificationStatus,
    warming_status: domain.warmingStatus,
    is_default: domain.isDefault,
    records: records.map(toDnsRecordDto),
    created_at: domain.createdAt.toISOString(),
    updated_at: domain.updatedAt.toISOString(),
    subdomain: domain.subdomain,
    verified_at: domain.verifiedAt?.toISOString() ?? null,
    dkim_selector: domain.dkimSelector,
    dkim_status: domain.dkimStatus ?? 'pending',
    warming_current_limit: warmingCurrentLimit,
    reputation_score: domain.reputationScore ?? DEFAULT_SCORE,
    require_tls: domain.requiresTls,
    ...(status !== 'active' && { sending_status: status, ...(reason && { sending_status_reason: reason }) }),
  };
}

/** `success` means that the ownership record was found. */
export function toVerificationDto(report: VerificationReport): DomainVerificationDto {
  return {
    success: report.domainVerified,
    status: report.status,
    domain_verified: report.domainVerified,
    dkim_verified: report.dkimVerified,
    errors: [...report.problems],
    records: report.records.map(toDnsRecordDto),
  };
}

/** Only MX records have a priority. */
function toDnsRecordDto({ record, verified, problem, found }: PublishedRecord): DnsRecordDto {
  const { type, host, value, purpose, ttlSeconds, priority = null } = record;
  return {
    ...{ type, host, value, purpose, verified, ttl: ttlSeconds, priority },
    ...(problem !== undefined && { problem }),
    ...(found && { found: [...found] }),
  };
}
