import { Injectable } from '@nestjs/common';
import { UnavailableError } from '../../../common/errors/app-error';
import { Database } from '../../../database/database.service';
import { type WantedRecipients, WarmUpService } from '../../domains/warm-up/warm-up.service';
import type { ScreenedSubmission, SubmissionAnswer } from './accept-plan';
import { AcceptTransaction } from './accept-transaction.service';

/** Commits a coalesced accept, within what its domains may still send today. */
@Injectable()
export class AcceptCommit {
  constructor(
    private readonly database: Database,
    private readonly warmUp: WarmUpService,
    private readonly transaction: AcceptTransaction,
  ) {}

  /** Answers one result per submission, in order. */
  async run(submissions: readonly ScreenedSubmission[]): Promise<SubmissionAnswer[]> {
    const budget = await this.warmUp.reserve(limitedRecipients(submissions));
    try {
      const answers = await this.database.transaction((tx) => this.transaction.run(submissions, budget, tx));
      await this.warmUp.settle(budget);
      return answers;
    } catch (error) {
      // With a lost connection nobody knows what became of the emails: their recipients stay counted.
      if (!(error instanceof UnavailableError)) await this.warmUp.cancel(budget);
      throw error;
    }
  }
}

/** One entry per email: replays are among them, as nobody knows them yet. */
function limitedRecipients(submissions: readonly ScreenedSubmission[]): WantedRecipients[] {
  return submissions.flatMap(({ items }) =>
    items.flatMap(({ outcome }) => {
      if (!('command' in outcome)) return [];
      const { organizationId, mode, domain } = outcome.command;
      if (mode !== 'live' || !domain.isLimited) return [];
      return [{ organizationId, domainId: domain.id, recipients: outcome.recipients.length }];
    }),
  );
}
