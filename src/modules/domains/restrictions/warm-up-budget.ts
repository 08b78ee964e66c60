import type { AppError } from '../../../common/errors/app-error';
import type { PauseReason, SendingState, WarmingStatus } from '../registry/domain.entity';
import { limitReached, sendingPaused, sendingSlowed, type Use, warmUpPaused } from './refusals';

/** What a batch may use of a domain's day. */
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
  /** What is left to a slowed or paused domain, whatever its warm-up allows; null: it is active. */
  readonly sendingLimit: number | null;
  /** The smaller one, of the whole day; null: none. */
  readonly limit: number | null;
  /** Reserved for this batch: no other can use them. */
  readonly granted: number;
  /** Of the day, by others. */
  readonly usedByOthers: number;
}

/** The reservations of one batch of accepts, drawn upon email by email. Domains without a limit are not in it. */
export class WarmUpBudget {
  private readonly allowances: ReadonlyMap<string, Allowance>;
  private readonly charged = new Map<string, number>();

  /** @param madeAt when the reservations were made: they are of that UTC day */
  constructor(
    allowances: readonly Allowance[],
    readonly madeAt: Date,
  ) {
    this.allowances = new Map(allowances.map((allowance) => [allowance.domainId, allowance]));
  }

  /** Forgets what was charged: the transaction runs again, or has been rolled back. */
  restart(): void {
    this.charged.clear();
  }

  /** Takes recipients out of the domain's allowance, all or none; returns the refusal when there are not enough. */
  charge(domainId: string, requested: number): AppError | undefined {
    const allowance = this.allowances.get(domainId);
    if (!allowance || allowance.limit === null) return undefined;
    const charged = this.charged.get(domainId) ?? 0;
    if (charged + requested > allowance.granted) return this.refuse(allowance, charged, requested);
    this.charged.set(domainId, charged + requested);
    return undefined;
  }

  /** Domains whose first live send this is. */
  starting(): Allowance[] {
    return [...this.allowances.values()].filter(
      ({ status, domainId }) => status === 'not_started' && this.charged.has(domainId),
    );
  }

  /** What is left of the reservations. */
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
