import { DAY, HOUR, MINUTE } from '../../../common/clock';
import type { Domain, VerificationStatus } from '../registry/domain.entity';
import type { RecordCheck, RecordPurpose, WantedRecord } from '../registry/wanted-records';
import type { DkimKey } from '../dkim/dkim-key.entity';

/** How long a record that had been found may be missing without consequences. */
export const PATIENCE_MS = 72 * HOUR;

/** A record with its result from DNS. */
export interface CheckedRecord {
  readonly record: WantedRecord;
  readonly check: RecordCheck;
  /** The values found in its place. */
  readonly found?: readonly string[];
}

/** The state of a record after its last check. */
export interface RecordState {
  readonly purpose: RecordPurpose;
  readonly host: string;
  readonly result: RecordCheck['result'];
  /** The last result; an unreachable DNS changes nothing. */
  readonly verified: boolean;
  /** Since when a record that had been found has been missing; null for one that was never found. */
  readonly failingSince: Date | null;
  readonly problem: string | null;
}

export type KnownState = Pick<RecordState, 'purpose' | 'host' | 'verified' | 'failingSince'>;

/** The state of a record after another check of it. */
export function nextState({ record, check }: CheckedRecord, known: KnownState | undefined, now: Date): RecordState {
  const { purpose, host } = record;
  const named = { purpose, host, result: check.result };
  switch (check.result) {
    case 'verified':
      return { ...named, verified: true, failingSince: null, problem: null };
    case 'unreachable':
      return {
        ...named,
        verified: known?.verified ?? false,
        failingSince: known?.failingSince ?? null,
        problem: check.problem,
      };
    case 'missing':
    case 'wrong':
      return {
        ...named,
        verified: false,
        failingSince: known?.failingSince ?? (known?.verified === true ? now : null),
        problem: check.problem,
      };
  }
}

/** The check result that led to a state. */
export function checkOf({ result, problem }: RecordState): RecordCheck {
  return result === 'verified' ? { result } : { result, problem: problem ?? '' };
}

/** Whether this check has found the record. */
export function isSeen(state: RecordState | undefined): boolean {
  return state?.result === 'verified';
}

/** Whether this check has found the record, or an earlier one since it was last lost. */
export function wasSeen(state: RecordState | undefined): boolean {
  return state !== undefined && (state.verified || state.failingSince !== null);
}

/** Whether this check has not found the record. */
export function isGone(state: RecordState | undefined): state is RecordState {
  return state?.result === 'missing' || state?.result === 'wrong';
}

/** Whether the record has been missing in every check since it was last found, for longer than the grace period. */
export function isLost(state: RecordState | undefined, now: Date): boolean {
  if (!isGone(state) || state.failingSince === null) return false;
  return now.getTime() - state.failingSince.getTime() >= PATIENCE_MS;
}

/** A record to publish, with the result of the last DNS check. */
export interface PublishedRecord {
  readonly record: WantedRecord;
  readonly verified: boolean;
  /** A sentence for the editor of the zone; undefined when nothing is wrong, or before the first check. */
  readonly problem?: string;
  /** What this check found in its place; undefined when the record is correct, there is nothing, or the check was an earlier one. */
  readonly found?: readonly string[];
}

export interface VerifiedRecord extends CheckedRecord {
  /** The result of the last check; the previous one while DNS is unreachable. */
  readonly verified: boolean;
}

/** The report of a check of all records for the domain's owner. */
export interface VerificationReport {
  readonly status: VerificationStatus;
  readonly domainVerified: boolean;
  readonly dkimVerified: boolean;
  readonly problems: readonly string[];
  readonly records: readonly PublishedRecord[];
}

/**
 * Only the ownership record and that of the active key have a field of their own; the others are in the list of records.
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
    // The record may be correct although another organization has verified the name.
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

/** How long after a record was first shown to its owner it is checked frequently. */
const EAGER_FOR_MS = 3 * DAY;
const JITTER = 0.1;

export interface Watched {
  readonly domain: Pick<Domain, 'verificationStatus' | 'dkimStatus' | 'createdAt'>;
  readonly keys: readonly Pick<DkimKey, 'state' | 'createdAt'>[];
  readonly states: readonly Pick<RecordState, 'result' | 'verified' | 'failingSince'>[];
}

/**
 * When the records are checked again: every five minutes while new ones are expected, hourly while records of a verified domain
 * are missing or cannot be checked, else daily; ± 10 %, so that checks of many domains spread out.
 * @param random from 0 to 1
 */
export function nextCheckAt(watched: Watched, now: Date, random = Math.random()): Date {
  return new Date(now.getTime() + intervalMs(watched, now) * (1 - JITTER + 2 * JITTER * random));
}

function intervalMs(watched: Watched, now: Date): number {
  if (isAwaiting(watched, now)) return 5 * MINUTE;
  return isFailing(watched) ? HOUR : DAY;
}

function isAwaiting({ domain, keys }: Watched, now: Date): boolean {
  const isUnfinished = domain.verificationStatus !== 'verified' || domain.dkimStatus === 'pending';
  const shownAt = keys.filter(({ state }) => state === 'pending').map(({ createdAt }) => createdAt);
  if (isUnfinished) shownAt.push(domain.createdAt);
  return shownAt.some((at) => now.getTime() - at.getTime() < EAGER_FOR_MS);
}

function isFailing({ domain, states }: Watched): boolean {
  if (domain.verificationStatus !== 'verified') return false;
  return (
    domain.dkimStatus === 'failed' ||
    states.some(({ failingSince, verified, result }) => failingSince !== null || (verified && result === 'unreachable'))
  );
}
