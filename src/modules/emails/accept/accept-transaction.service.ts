import { Injectable } from '@nestjs/common';
import { Clock } from '../../../common/clock';
import { timeOfId } from '../../../common/ids';
import type { Transaction } from '../../../database/transaction';
import type { WarmUpBudget } from '../../domains/restrictions/warm-up/warm-up.service';
import { type StatDelta, StatsService } from '../../stats/stats.service';
import { AcceptPlan, type ScreenedSubmission, type SubmissionAnswer } from './accept-plan';
import { AcceptRepository } from './accept.repository';
import type { AcceptedEmail } from './accepted-email';
import { IdempotencyLedgerRepository } from './idempotency-ledger.repository';
import { RecipientLimits } from './recipient-limits';

/** What one coalesced accept does between BEGIN and COMMIT. */
@Injectable()
export class AcceptTransaction {
  constructor(
    private readonly ledger: IdempotencyLedgerRepository,
    private readonly limits: RecipientLimits,
    private readonly accepts: AcceptRepository,
    private readonly stats: StatsService,
    private readonly clock: Clock,
  ) {}

  /**
   * Answers one result per submission, in order.
   * @param budget what the domains in their warm-up may send
   */
  async run(
    submissions: readonly ScreenedSubmission[],
    budget: WarmUpBudget,
    tx: Transaction,
  ): Promise<SubmissionAnswer[]> {
    const plan = new AcceptPlan(submissions, await this.examineKeys(submissions, tx));
    const emails = plan.emails();
    const refused = await this.limits.charge(emails, budget, tx);
    const written = emails.filter((email) => !refused.has(email.id));
    this.accepts.insert(written, this.clock.now(), tx);
    this.stats.record(countAccepted(written), tx);
    this.ledger.remember(plan.toRemember(refused), tx);
    return plan.answers(refused);
  }

  private async examineKeys(submissions: readonly ScreenedSubmission[], tx: Transaction) {
    const claims = submissions
      .flatMap((submission) => [submission.idempotency, ...submission.items.map((item) => item.idempotency)])
      .filter((claim) => claim !== undefined);
    const states = claims.length > 0 ? await this.ledger.examine(claims, tx) : [];
    return new Map(states.map((state, index) => [claims[index] as (typeof claims)[number], state]));
  }
}

/** In the hour of their ids, which is that of their creation: lists find their pages by it. */
function countAccepted(emails: readonly AcceptedEmail[]): StatDelta[] {
  const deltas: StatDelta[] = [];
  for (const { id, command, recipients } of emails) {
    const { organizationId, mode } = command;
    const domainId = command.domain.id;
    const occurredAt = timeOfId(id);
    deltas.push(
      { organizationId, mode, domainId, occurredAt, counter: 'emails', by: 1 },
      { organizationId, mode, domainId, occurredAt, counter: 'accepted', by: recipients.length },
    );
  }
  return deltas;
}
