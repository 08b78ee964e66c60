import { Injectable } from '@nestjs/common';
import { Clock, DAY, SECOND } from '../../../../common/clock';
import { AppError } from '../../../../common/errors/app-error';
import { AppConfig } from '../../../../config/config';
import type { Transaction } from '../../../../database/statements/transaction';
import { StatsService } from '../../../stats/stats.service';
import { AcceptRepository } from './accept.repository';
import type { AcceptedEmail } from '../request/send-request';

/**
 * Limits on the recipients of an organization's live mail in a month (UTC), which an operator sets.
 *
 * The counter of each limited organization is locked while a batch of its mail is accepted, so the limit is exact. Once a minute
 * it is recounted from the statistics: that initializes it within a month, and includes mail of processes that had not read the
 * limit yet.
 */
@Injectable()
export class MonthlyLimits {
  constructor(
    private readonly accepts: AcceptRepository,
    private readonly stats: StatsService,
    private readonly clock: Clock,
  ) {}

  /** Locks the counters of the limited organizations among the senders, within the transaction; call `save` afterwards. */
  async open(emails: readonly AcceptedEmail[], tx: Transaction): Promise<MonthlyBudget> {
    const limited = emails.filter(({ command }) => command.mode === 'live' && command.monthlyRecipients !== null);
    const ids = [...new Set(limited.map(({ command }) => command.organizationId))];
    const now = this.clock.now();
    if (ids.length === 0) return new MonthlyBudget(new Map(), now);
    const locked = await this.accepts.lockMonthlyUsage(ids, monthOf(now), tx);
    const stale = locked.filter(({ isStale }) => isStale).map(({ organizationId }) => organizationId);
    // Read after the lock, so that the statistics include what others have committed before it.
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

interface MonthOfUse {
  readonly organizationId: string;
  readonly isStale: boolean;
  recipients: number;
}

/** The remaining recipients of organizations in this month. */
class MonthlyBudget {
  constructor(
    private readonly byOrganization: ReadonlyMap<string, MonthOfUse>,
    readonly openedAt: Date,
  ) {}

  /** The error for an email that exceeds the limit; undefined when there is room, or no limit. */
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

  usages(): readonly MonthOfUse[] {
    return [...this.byOrganization.values()];
  }

  private usageOf({ organizationId, mode }: AcceptedEmail['command']): MonthOfUse | undefined {
    return mode === 'live' ? this.byOrganization.get(organizationId) : undefined;
  }
}

/** The first day of the month, as a UTC date. */
function monthOf(time: Date): string {
  return `${time.toISOString().slice(0, 7)}-01`;
}

interface DayOfUse {
  organizationId: string;
  domainId: string;
  today: number;
  lifetime: number;
  added: number;
}

/** Test mode's limits on recipients, per sender domain, by day and in total. */
@Injectable()
export class TestLimits {
  constructor(
    private readonly accepts: AcceptRepository,
    private readonly config: AppConfig,
    private readonly clock: Clock,
  ) {}

  /** Counts the recipients of test mail; returns the refusals by email id. Ignores live mail. */
  async charge(emails: readonly AcceptedEmail[], tx: Transaction): Promise<Map<string, AppError>> {
    const refused = new Map<string, AppError>();
    const tests = emails.filter((email) => email.command.mode === 'test');
    if (tests.length === 0) return refused;
    const day = this.clock.now().toISOString().slice(0, 10);
    const usages = await this.lock(tests, day, tx);
    for (const email of tests) {
      const usage = usages.get(email.command.domain.id);
      const error = usage && this.chargeOne(usage, email.recipients.length);
      if (error) refused.set(email.id, error);
    }
    const added = [...usages.values()].filter((usage) => usage.added > 0);
    await this.accepts.addTestUsage(
      added.map((usage) => ({ ...usage, recipients: usage.added })),
      day,
      tx,
    );
    return refused;
  }

  private async lock(emails: readonly AcceptedEmail[], day: string, tx: Transaction): Promise<Map<string, DayOfUse>> {
    const usages = new Map<string, DayOfUse>();
    for (const { command } of emails) {
      const { id: domainId } = command.domain;
      usages.set(domainId, { organizationId: command.organizationId, domainId, today: 0, lifetime: 0, added: 0 });
    }
    for (const row of await this.accepts.lockTestUsage([...usages.values()], day, tx)) {
      const usage = usages.get(row.domainId);
      if (usage) usage[row.isLifetime ? 'lifetime' : 'today'] = row.recipients;
    }
    return usages;
  }

  private chargeOne(usage: DayOfUse, requested: number): AppError | undefined {
    const { testRecipientsPerDay, testRecipientsPerLifetime } = this.config.limits;
    const lifetime = usage.lifetime + usage.added;
    if (lifetime + requested > testRecipientsPerLifetime) {
      return limitExceeded('in a lifetime', { limit: testRecipientsPerLifetime, used: lifetime, requested });
    }
    const used = usage.today + usage.added;
    if (used + requested > testRecipientsPerDay) {
      const nowMs = this.clock.now().getTime();
      const resetsAt = new Date((Math.floor(nowMs / DAY) + 1) * DAY);
      const details = { limit: testRecipientsPerDay, used, requested, resetsAt: resetsAt.toISOString() };
      return limitExceeded('a day', details, Math.ceil((resetsAt.getTime() - nowMs) / SECOND));
    }
    usage.added += requested;
    return undefined;
  }
}

function limitExceeded(period: string, details: Record<string, unknown>, retryAfterSeconds?: number): AppError {
  const { limit } = details;
  return new AppError(
    'sending_limit_exceeded',
    `Test mode allows ${String(limit)} recipients ${period} per sender domain`,
    {
      details,
      retryAfterSeconds,
      suggestion: 'Use a live key for real mail, or raise the limit in the configuration',
    },
  );
}
