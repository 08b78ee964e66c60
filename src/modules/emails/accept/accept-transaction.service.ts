import { Injectable } from '@nestjs/common';
import { Clock } from '../../../common/clock';
import type { AppError } from '../../../common/errors/app-error';
import { timeOfId } from '../../../common/ids';
import type { Transaction } from '../../../database/transaction';
import { type WarmUpBudget, WarmUpService } from '../../domains/restrictions/warm-up.service';
import { type StatDelta, StatsService } from '../../stats/stats.service';
import { AcceptPlan } from './accept-plan';
import { AcceptRepository } from './accept.repository';
import { MonthlyLimits, TestLimits } from './usage-limits.service';
import type { AcceptedEmail, ScreenedSubmission, SubmissionOutcome } from './submission';

/** What one coalesced accept does between BEGIN and COMMIT. */
@Injectable()
export class AcceptTransaction {
  constructor(
    private readonly accepts: AcceptRepository,
    private readonly testLimits: TestLimits,
    private readonly monthlyLimits: MonthlyLimits,
    private readonly warmUp: WarmUpService,
    private readonly stats: StatsService,
    private readonly clock: Clock,
  ) {}

  /**
   * Returns one outcome per submission, in order, and the emails that were written.
   * @param budget what the domains in their warm-up may send
   */
  async run(
    submissions: readonly ScreenedSubmission[],
    budget: WarmUpBudget,
    tx: Transaction,
  ): Promise<{ outcomes: SubmissionOutcome[]; written: AcceptedEmail[] }> {
    const plan = new AcceptPlan(submissions, await this.examineKeys(submissions, tx));
    const emails = plan.emails();
    const refused = await this.chargeLimits(emails, budget, tx);
    const written = emails.filter((email) => !refused.has(email.id));
    const now = this.clock.now();
    await this.accepts.insert(written, now, tx);
    this.stats.record(countAccepted(written), tx);
    this.accepts.storeResponses(plan.toRemember(refused), now, tx);
    return { outcomes: plan.results(refused), written };
  }

  private async examineKeys(submissions: readonly ScreenedSubmission[], tx: Transaction) {
    const claims = submissions
      .flatMap((submission) => [submission.idempotency, ...submission.items.map((item) => item.idempotency)])
      .filter((claim) => claim !== undefined);
    const states = claims.length > 0 ? await this.accepts.examineKeys(claims, this.clock.now(), tx) : [];
    return new Map(states.map((state, index) => [claims[index] as (typeof claims)[number], state]));
  }

  /**
   * Counts the recipients of emails about to be written against the limits of test mode, of organizations, and of live domains
   * in their warm-up or held back; returns the refusals by email id.
   */
  private async chargeLimits(
    emails: readonly AcceptedEmail[],
    budget: WarmUpBudget,
    tx: Transaction,
  ): Promise<Map<string, AppError>> {
    const refused = await this.testLimits.charge(emails, tx);
    // The transaction may be running again.
    budget.restart();
    const month = await this.monthlyLimits.open(emails, tx);
    for (const email of emails) {
      const { id, command, recipients } = email;
      if (command.mode !== 'live') continue;
      const error = month.refusalOf(email) ?? budget.charge(command.domain.id, recipients.length);
      if (error) refused.set(id, error);
      else month.take(email);
    }
    await this.monthlyLimits.save(month, tx);
    this.warmUp.start(budget, tx);
    return refused;
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
