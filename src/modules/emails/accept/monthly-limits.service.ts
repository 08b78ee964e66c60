import { Injectable } from '@nestjs/common';
import { Clock, SECOND } from '../../../common/clock';
import { AppError } from '../../../common/errors/app-error';
import type { Transaction } from '../../../database/transaction';
import { StatsService } from '../../stats/stats.service';
import { AcceptRepository } from './accept.repository';
import type { AcceptedEmail } from './submission';

/**
 * Limits on the recipients of an organization's live mail in a month (UTC), which an operator sets.
 *
 * A counter for each limited organization is locked while a batch of its mail is accepted, so the limit is exact. Once a
 * minute it is counted anew from the statistics: that starts it in the middle of a month, and mends what processes accepted
 * that did not yet know of the limit.
 */
@Injectable()
export class MonthlyLimits {
  constructor(
    private readonly accepts: AcceptRepository,
    private readonly stats: StatsService,
    private readonly clock: Clock,
  ) {}

  /** Locks the counters of the limited organizations among the senders; to be asked within the transaction, then saved. */
  async open(emails: readonly AcceptedEmail[], tx: Transaction): Promise<MonthlyBudget> {
    const limited = emails.filter(({ command }) => command.mode === 'live' && command.monthlyRecipients !== null);
    const ids = [...new Set(limited.map(({ command }) => command.organizationId))];
    const now = this.clock.now();
    if (ids.length === 0) return new MonthlyBudget(new Map(), now);
    const locked = await this.accepts.lockMonthlyUsage(ids, monthOf(now), tx);
    const stale = locked.filter(({ isStale }) => isStale).map(({ organizationId }) => organizationId);
    // After the lock: what others have committed before it is in the statistics.
    const counted = stale.length > 0 ? await this.stats.usageOf(stale, tx) : new Map<string, { month: number }>();
    const usages = locked.map((usage) => ({
      ...usage,
      recipients: counted.get(usage.organizationId)?.month ?? usage.recipients,
    }));
    return new MonthlyBudget(new Map(usages.map((usage) => [usage.organizationId, usage])), now);
  }

  async save(budget: MonthlyBudget, tx: Transaction): Promise<void> {
    const usages = budget.usages();
    if (usages.length > 0) await this.accepts.setMonthlyUsage(usages, monthOf(budget.openedAt), tx);
  }
}

interface Usage {
  readonly organizationId: string;
  readonly isStale: boolean;
  recipients: number;
}

/** What organizations may still send in this month. */
class MonthlyBudget {
  constructor(
    private readonly byOrganization: ReadonlyMap<string, Usage>,
    readonly openedAt: Date,
  ) {}

  /** Undefined: there is room for the email, or no limit. */
  refusalOf({ command, recipients }: AcceptedEmail): AppError | undefined {
    const usage = this.usageOf(command);
    const limit = command.monthlyRecipients;
    if (!usage || limit === null || usage.recipients + recipients.length <= limit) return undefined;
    const { openedAt } = this;
    const resetsAt = new Date(Date.UTC(openedAt.getUTCFullYear(), openedAt.getUTCMonth() + 1));
    return new AppError('sending_limit_exceeded', `The organization may have ${limit} recipients a month`, {
      details: { limit, used: usage.recipients, requested: recipients.length, resetsAt: resetsAt.toISOString() },
      retryAfterSeconds: Math.ceil((resetsAt.getTime() - openedAt.getTime()) / SECOND),
      suggestion: 'Ask the operator of this service for a higher limit, or wait for the next month',
    });
  }

  take({ command, recipients }: AcceptedEmail): void {
    const usage = this.usageOf(command);
    if (usage) usage.recipients += recipients.length;
  }

  usages(): readonly Usage[] {
    return [...this.byOrganization.values()];
  }

  private usageOf({ organizationId, mode }: AcceptedEmail['command']): Usage | undefined {
    return mode === 'live' ? this.byOrganization.get(organizationId) : undefined;
  }
}

/** Its first day. */
function monthOf(time: Date): string {
  return `${time.toISOString().slice(0, 7)}-01`;
}
