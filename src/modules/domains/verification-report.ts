import type { RecordState } from './domain-details.service';
import type { WantedRecord } from './dns-record';
import type { Domain, VerificationStatus } from './domain.entity';
import type { VerifiedRecord } from './verification/domain-verification.service';

/** What a look at all records of a domain means for its owner. */
export interface VerificationReport {
  readonly status: VerificationStatus;
  readonly domainVerified: boolean;
  readonly dkimVerified: boolean;
  readonly problems: readonly string[];
  readonly records: readonly RecordState[];
}

/**
 * Only the ownership record and that of the key which signs have a verdict of their own; the others are told one by one.
 * @param signingSelector undefined when no key signs
 */
export function reportOn(
  { domain, verificationStatus: status }: Pick<Domain, 'domain' | 'verificationStatus'>,
  checks: readonly VerifiedRecord[],
  signingSelector: string | undefined,
): VerificationReport {
  const signing = `${signingSelector}._domainkey.${domain}`;
  const has = (isAsked: (record: WantedRecord) => boolean) =>
    checks.some(({ record, verified }) => verified && isAsked(record));
  return {
    status,
    // The record may be right and the name another organization's all the same.
    domainVerified: status === 'verified' && has(({ purpose }) => purpose === 'verification'),
    dkimVerified: has(({ purpose, host }) => purpose === 'dkim' && host === signing),
    problems: checks.flatMap(({ record, check }) =>
      check.result === 'verified' ? [] : [`${record.purpose} (${record.type} ${record.host}): ${check.problem}`],
    ),
    records: checks.map(({ record, verified }) => ({ record, verified })),
  };
}
