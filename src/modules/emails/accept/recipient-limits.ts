import { Injectable } from '@nestjs/common';
import type { AppError } from '../../../common/errors/app-error';
import type { Transaction } from '../../../database/transaction';
import { type WarmUpBudget, WarmUpService } from '../../domains/restrictions/warm-up/warm-up.service';
import type { AcceptedEmail } from './accepted-email';
import { TestQuotaRepository } from './test-quota.repository';

/** The limits on recipients: those of test mode, and those of a live domain in its warm-up or held back. */
@Injectable()
export class RecipientLimits {
  constructor(
    private readonly tests: TestQuotaRepository,
    private readonly warmUp: WarmUpService,
  ) {}

  /** Counts the recipients of emails about to be written; answers the refusals by email id. */
  async charge(
    emails: readonly AcceptedEmail[],
    budget: WarmUpBudget,
    tx: Transaction,
  ): Promise<Map<string, AppError>> {
    const refused = await this.tests.charge(emails, tx);
    // The transaction may be running again.
    budget.restart();
    for (const { id, command, recipients } of emails) {
      const error = command.mode === 'live' ? budget.charge(command.domain.id, recipients.length) : undefined;
      if (error) refused.set(id, error);
    }
    this.warmUp.start(budget, tx);
    return refused;
  }
}
