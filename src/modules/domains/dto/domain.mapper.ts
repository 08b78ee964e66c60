import type { DomainDetail } from '../domain-details.service';
import type { PublishedRecord, VerificationReport } from '../verification/record-state';
import type { DnsRecordDto, DomainDto, DomainVerificationDto } from './domain.dto';

/** The score of a domain that has sent too little for one of its own. */
const DEFAULT_SCORE = 100;

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

/** MX records alone have a priority. */
function toDnsRecordDto({ record, verified, problem, found }: PublishedRecord): DnsRecordDto {
  const { type, host, value, purpose, ttlSeconds, priority = null } = record;
  return {
    ...{ type, host, value, purpose, verified, ttl: ttlSeconds, priority },
    ...(problem !== undefined && { problem }),
    ...(found && { found: [...found] }),
  };
}
