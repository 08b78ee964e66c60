import { SECOND } from '../../../common/clock';
import { AppError } from '../../../common/errors/app-error';
import type { PauseReason, SendingState, WarmingStatus } from '../registry/domain.entity';
import { LIMITS_PER_MILLE, PAUSE_MS } from './evaluate-restriction';
import { nextDay } from './warm-up-schedule';

/** What a batch may use of a domain's daily limit. */
export interface Allowance {
  readonly organizationId: string;
  readonly domainId: string;
  readonly name: string;
  readonly status: WarmingStatus;
  readonly pausedAt: Date | null;
  readonly pauseReason: PauseReason | null;
  readonly sendingStatus: SendingState['status'];
  readonly sendingReason: SendingState['reason'];
  readonly sendingSince: Date | null;
  /** The daily limit of a slowed or paused domain, without its warm-up; null: it is active. */
  readonly sendingLimit: number | null;
  /** The effective daily limit, the smaller of both; null: none. */
  readonly limit: number | null;
  /** Recipients reserved for this batch; no other batch can use them. */
  readonly granted: number;
  /** Recipients of the day used by other batches. */
  readonly usedByOthers: number;
}

/** The reservations of one batch of accepts, charged email by email. Domains without a limit are not part of it. */
export class WarmUpBudget {
  private readonly allowances: ReadonlyMap<string, Allowance>;
  private readonly charged = new Map<string, number>();

  /** @param madeAt when the reservations were made: they belong to that UTC day */
  constructor(
    allowances: readonly Allowance[],
    readonly madeAt: Date,
  ) {
    this.allowances = new Map(allowances.map((allowance) => [allowance.domainId, allowance]));
  }

  /** Resets the charges, when the transaction is retried or has been rolled back. */
  restart(): void {
    this.charged.clear();
  }

  /** Charges recipients to the domain's allowance, all or none; returns the error when there are not enough. */
  charge(domainId: string, requested: number): AppError | undefined {
    const allowance = this.allowances.get(domainId);
    if (!allowance || allowance.limit === null) return undefined;
    const charged = this.charged.get(domainId) ?? 0;
    if (charged + requested > allowance.granted) return this.refuse(allowance, charged, requested);
    this.charged.set(domainId, charged + requested);
    return undefined;
  }

  /** Domains for which this is the first live send. */
  starting(): Allowance[] {
    return [...this.allowances.values()].filter(
      ({ status, domainId }) => status === 'not_started' && this.charged.has(domainId),
    );
  }

  /** The unused rest of the reservations. */
  unused(): { organizationId: string; domainId: string; recipients: number }[] {
    return [...this.allowances.values()]
      .map(({ organizationId, domainId, granted }) => ({
        organizationId,
        domainId,
        recipients: granted - (this.charged.get(domainId) ?? 0),
      }))
      .filter(({ recipients }) => recipients > 0);
  }

  private refuse(allowance: Allowance, charged: number, requested: number): AppError {
    const { name, status, pausedAt, pauseReason, limit, usedByOthers, sendingLimit } = allowance;
    const use = { limit: limit ?? 0, used: usedByOthers + charged, requested };
    if (sendingLimit !== null && sendingLimit === limit) return this.refuseRestricted(allowance, use);
    return status === 'paused'
      ? warmUpPaused(name, use, { pausedAt: pausedAt ?? this.madeAt, reason: pauseReason }, this.madeAt)
      : limitReached(name, use, this.madeAt);
  }

  private refuseRestricted({ name, sendingStatus, sendingReason, sendingSince }: Allowance, use: Use): AppError {
    const restriction = { reason: sendingReason, since: sendingSince };
    const refuse = sendingStatus === 'paused' ? sendingPaused : sendingSlowed;
    return refuse(name, use, restriction, this.madeAt);
  }
}

export interface Use {
  readonly limit: number;
  readonly used: number;
  readonly requested: number;
}

type Restriction = Pick<SendingState, 'reason' | 'since'>;

interface Pause {
  readonly pausedAt: Date;
  readonly reason: PauseReason | null;
}

/** The error when fewer recipients of the day are left than the email has. */
function limitReached(domain: string, use: Use, now: Date): AppError {
  const { limit, used, requested } = use;
  const counts = `${limit} recipients today, of which ${used} are used and ${requested} more were requested`;
  return exceeded(`The domain ${domain} is warming up: it may send to ${counts}`, use, nextDay(now), now, {
    suggestion: 'Send the rest tomorrow: the limit grows day by day; the operator can mark the domain as warmed',
  });
}

/** The text of each reason, and the remedy. */
const REASONS: Record<PauseReason, { text: string; remedy: string }> = {
  bounces: {
    text: `more than ${LIMITS_PER_MILLE.bounces / 10} % of its recipients bounced`,
    remedy: 'Remove the addresses that bounced and send to confirmed ones only',
  },
  complaints: {
    text: `more than ${LIMITS_PER_MILLE.complaints / 10} % of its recipients complained of spam`,
    remedy: 'Send only to people who asked for the mail, and make unsubscribing easy',
  },
};

/** The error while the warm-up is paused: nothing is accepted until it is resumed. */
function warmUpPaused(domain: string, use: Use, { pausedAt, reason }: Pause, now: Date): AppError {
  const { text, remedy } = REASONS[reason ?? 'bounces'];
  const resumesAt = new Date(Math.max(pausedAt.getTime() + PAUSE_MS, now.getTime() + SECOND));
  return exceeded(`The warm-up of the domain ${domain} is paused because ${text}`, use, resumesAt, now, {
    reason: 'warming_paused',
    suggestion: `${remedy}; sending resumes by itself a day after the pause, or when the operator resumes it`,
  });
}

/** The error when fewer recipients of a slowed domain's day are left than the email has. */
function sendingSlowed(domain: string, use: Use, { reason }: Restriction, now: Date): AppError {
  const { limit, used, requested } = use;
  const { text, remedy } = explain(reason);
  const counts = `${limit} recipients today, of which ${used} are used and ${requested} more were requested`;
  return exceeded(`The domain ${domain} is slowed because ${text}: it may send to ${counts}`, use, nextDay(now), now, {
    reason: 'sending_slowed',
    suggestion: `${remedy}; it may send to ${limit} recipients a day until it has been below for an hour, or the operator lifts that`,
  });
}

/** The error while sending is paused. */
function sendingPaused(domain: string, use: Use, { reason, since }: Restriction, now: Date): AppError {
  const { text, remedy } = explain(reason);
  const message = `Sending from the domain ${domain} is paused because ${text}`;
  const isTimed = reason !== 'operator' && since !== null;
  const resumesAt = isTimed ? new Date(Math.max(since.getTime() + PAUSE_MS, now.getTime() + SECOND)) : undefined;
  const ending = isTimed
    ? 'sending resumes slowly a day after the pause, or when the operator resumes it'
    : 'sending resumes when the operator resumes it';
  return exceeded(message, use, resumesAt, now, {
    reason: 'sending_paused',
    suggestion: `${remedy}; it may send to ${use.limit} recipients until then, and ${ending}`,
  });
}

function explain(reason: Restriction['reason']): { text: string; remedy: string } {
  if (reason === 'bounces' || reason === 'complaints') return REASONS[reason];
  return { text: 'the operator has paused it', remedy: 'Ask the operator what is wrong' };
}

/** @param resetsAt undefined when unknown */
function exceeded(
  message: string,
  { limit, used, requested }: Use,
  resetsAt: Date | undefined,
  now: Date,
  { reason = 'warming', suggestion }: { reason?: string; suggestion: string },
): AppError {
  return new AppError('sending_limit_exceeded', message, {
    details: { limit, used, requested, reason, ...(resetsAt && { resetsAt: resetsAt.toISOString() }) },
    suggestion,
    ...(resetsAt && { retryAfterSeconds: Math.ceil((resetsAt.getTime() - now.getTime()) / SECOND) }),
  });
}
