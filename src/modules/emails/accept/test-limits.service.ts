import { Injectable } from '@nestjs/common';
import { Clock, DAY, SECOND } from '../../../common/clock';
import { AppError } from '../../../common/errors/app-error';
import { AppConfig } from '../../../config/config';
import type { Transaction } from '../../../database/transaction';
import { AcceptRepository } from './accept.repository';
import type { AcceptedEmail } from './submission';

interface Usage {
  organizationId: string;
  domainId: string;
  today: number;
  lifetime: number;
  added: number;
}

/** Test mode's limits on recipients, per sender domain and day and per sender domain in all. */
@Injectable()
export class TestLimits {
  constructor(
    private readonly accepts: AcceptRepository,
    private readonly config: AppConfig,
    private readonly clock: Clock,
  ) {}

  /** Counts the recipients of test mail; returns the refusals by email id. Live mail passes untouched. */
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

  private async lock(emails: readonly AcceptedEmail[], day: string, tx: Transaction): Promise<Map<string, Usage>> {
    const usages = new Map<string, Usage>();
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

  private chargeOne(usage: Usage, requested: number): AppError | undefined {
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
