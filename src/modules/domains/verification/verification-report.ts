import type { Domain, VerificationStatus } from '../registry/domain.entity';
import type { WantedRecord } from '../registry/wanted-records';
import type { CheckedRecord } from './record-state';

/** A record to publish, with what the last DNS check found. */
export interface PublishedRecord {
  readonly record: WantedRecord;
  readonly verified: boolean;
  /** A sentence for the editor of the zone; undefined when nothing is wrong, or before the first check. */
  readonly problem?: string;
  /** What this check found in its place; undefined when it is right, nothing is there, or the check was an earlier one. */
  readonly found?: readonly string[];
}

export interface VerifiedRecord extends CheckedRecord {
  /** What the DNS says; what it said before while it cannot be reached. */
  readonly verified: boolean;
}

/** What a check of all records of a domain means for its owner. */
export interface VerificationReport {
  readonly status: VerificationStatus;
  readonly domainVerified: boolean;
  readonly dkimVerified: boolean;
  readonly problems: readonly string[];
  readonly records: readonly PublishedRecord[];
}

/**
 * Only the ownership record and that of the key which signs have a field of their own; the others are listed one by one.
 * @param signingSelector undefined when no key signs
 */
export function reportOn(
  { domain, verificationStatus: status }: Pick<Domain, 'domain' | 'verificationStatus'>,
  checks: readonly VerifiedRecord[],
  signingSelector: string | undefined,
): VerificationReport {
  const signing = `${signingSelector}._domainkey.${domain}`;
  const has = (isWanted: (record: WantedRecord) => boolean) =>
    checks.some(({ record, verified }) => verified && isWanted(record));
  return {
    status,
    // The record may be right and the name another organization's all the same.
    domainVerified: status === 'verified' && has(({ purpose }) => purpose === 'verification'),
    dkimVerified: has(({ purpose, host }) => purpose === 'dkim' && host === signing),
    problems: checks.flatMap(({ record, check }) =>
      check.result === 'verified' ? [] : [`${record.purpose} (${record.type} ${record.host}): ${check.problem}`],
    ),
    records: checks.map(({ record, verified, check, found = [] }) => ({
      ...{ record, verified },
      ...(check.result !== 'verified' && { problem: check.problem }),
      ...(check.result === 'wrong' && found.length > 0 && { found }),
    })),
  };
}
