import type { DkimKey } from '../dkim/dkim-key.entity';
import type { DkimStatus, Domain, VerificationStatus } from '../registry/domain.entity';
import { wrong } from './dns-lookups';
import {
  type CheckedRecord,
  isGone,
  isLost,
  isSeen,
  type KnownState,
  nextState,
  PATIENCE_MS,
  type RecordState,
  wasSeen,
} from './record-state';

export type DomainState = Pick<
  Domain,
  'domain' | 'verificationStatus' | 'verifiedAt' | 'dkimStatus' | 'returnPathVerified' | 'trackingVerified'
>;
export type KeyState = Pick<DkimKey, 'selector' | 'state' | 'createdAt'>;

export interface CheckResult {
  readonly domain: DomainState;
  /** The states after earlier checks. */
  readonly known: readonly KnownState[];
  /** The keys whose records were checked, with their current state. */
  readonly keys: readonly KeyState[];
  readonly checked: readonly CheckedRecord[];
  /** Another organization has verified the name. */
  readonly isNameTaken: boolean;
}

export type Transition =
  | 'domain.verified'
  | 'domain.failed'
  | 'dkim.activated'
  | 'dkim.verified'
  | 'dkim.failed'
  | 'return_path.verified'
  | 'return_path.failed'
  | 'tracking.verified'
  | 'tracking.failed';

export interface Decision {
  readonly change: Omit<DomainState, 'domain'> & Pick<Domain, 'verificationFailingSince' | 'dkimFailingSince'>;
  /** In the order of the checked records. */
  readonly states: readonly RecordState[];
  /** Selector of the key that becomes active because its record was found. */
  readonly activated: string | undefined;
  readonly transitions: readonly Transition[];
}

/**
 * Decides what follows from a DNS check. A status becomes verified as soon as its record is found, and fails only when a record
 * **that had been found** has been missing or wrong in every reply of 72 hours: a domain that the operator trusts without DNS
 * never fails. An unreachable DNS changes no status.
 */
export function applyChecks(result: CheckResult, now: Date): Decision {
  const { domain, keys } = result;
  const states = result.checked.map((each) =>
    nextState(withoutTakenName(each, result), knownOf(each, result.known), now),
  );
  const activated = keys.find((key) => key.state === 'pending' && isSeen(keyStateOf(key, domain, states)))?.selector;
  const ownership = states.find(({ purpose }) => purpose === 'verification');
  const verificationStatus = nextStatus(domain.verificationStatus, ownership, now);
  const change = {
    verificationStatus,
    verifiedAt: verificationStatus === 'verified' && domain.verificationStatus !== 'verified' ? now : domain.verifiedAt,
    dkimStatus: nextDkimStatus(result, states, activated, now),
    returnPathVerified: nextFlag(domain.returnPathVerified, states, 'return_path', now),
    trackingVerified: nextFlag(domain.trackingVerified, states, 'tracking', now),
  };
  const settled = states.map((state) => (isLost(state, now) ? { ...state, failingSince: null } : state));
  const signing = signingKey(keys, activated);
  return {
    change: {
      ...change,
      verificationFailingSince: settled.find(({ purpose }) => purpose === 'verification')?.failingSince ?? null,
      dkimFailingSince: (signing && keyStateOf(signing, domain, settled)?.failingSince) ?? null,
    },
    states: settled,
    activated,
    transitions: [...(activated === undefined ? [] : (['dkim.activated'] as const)), ...transitionsOf(domain, change)],
  };
}

/** Marks the ownership record as wrong when another organization has verified the name. */
function withoutTakenName({ record, check }: CheckedRecord, { domain, isNameTaken }: CheckResult): CheckedRecord {
  const counts = isNameTaken && domain.verificationStatus !== 'verified' && check.result === 'verified';
  if (!counts || record.purpose !== 'verification') return { record, check };
  return { record, check: wrong(`${domain.domain} has been verified by another organization of this service`) };
}

function knownOf({ record }: CheckedRecord, known: readonly KnownState[]): KnownState | undefined {
  return known.find(({ purpose, host }) => purpose === record.purpose && host === record.host);
}

function keyStateOf({ selector }: KeyState, { domain }: DomainState, states: readonly RecordState[]) {
  return states.find(({ purpose, host }) => purpose === 'dkim' && host === `${selector}._domainkey.${domain}`);
}

function signingKey(keys: readonly KeyState[], activated: string | undefined): KeyState | undefined {
  return keys.find(({ selector, state }) => (activated === undefined ? state === 'active' : selector === activated));
}

function nextStatus<Status extends VerificationStatus | DkimStatus | null>(
  status: Status,
  state: RecordState | undefined,
  now: Date,
): Status | 'verified' | 'failed' {
  if (isSeen(state)) return 'verified';
  return status === 'verified' && isLost(state, now) ? 'failed' : status;
}

/** The status of the active key, unless the record of its successor has been missing for so long that the rotation has failed. */
function nextDkimStatus(
  { domain, keys }: CheckResult,
  states: readonly RecordState[],
  activated: string | undefined,
  now: Date,
): DkimStatus | null {
  const signing = signingKey(keys, activated);
  const signingState = signing && keyStateOf(signing, domain, states);
  const successor = activated === undefined ? keys.find(({ state }) => state === 'pending') : undefined;
  const isOverdue = successor && now.getTime() - successor.createdAt.getTime() >= PATIENCE_MS;
  if (!isOverdue) return nextStatus(domain.dkimStatus, signingState, now);
  const hasFailed = wasSeen(signingState) && isGone(keyStateOf(successor, domain, states));
  return hasFailed ? 'failed' : domain.dkimStatus;
}

function nextFlag(
  flag: boolean,
  states: readonly RecordState[],
  purpose: 'return_path' | 'tracking',
  now: Date,
): boolean {
  const state = states.find((each) => each.purpose === purpose);
  return isSeen(state) || (flag && !isLost(state, now));
}

type Statuses = Pick<DomainState, 'verificationStatus' | 'dkimStatus' | 'returnPathVerified' | 'trackingVerified'>;

function transitionsOf(before: Statuses, after: Statuses): Transition[] {
  const statuses = [
    ['domain', before.verificationStatus, after.verificationStatus],
    ['dkim', before.dkimStatus, after.dkimStatus],
    ['return_path', flagStatus(before.returnPathVerified), flagStatus(after.returnPathVerified)],
    ['tracking', flagStatus(before.trackingVerified), flagStatus(after.trackingVerified)],
  ] as const;
  return statuses.flatMap(([what, from, to]) =>
    from === to || (to !== 'verified' && to !== 'failed') ? [] : [`${what}.${to}` as const],
  );
}

function flagStatus(flag: boolean): 'verified' | 'failed' {
  return flag ? 'verified' : 'failed';
}
