import { Injectable } from '@nestjs/common';
import { Clock } from '../../../../common/clock';
import { type AppError, CommitUnknownError } from '../../../../common/errors/app-error';
import { timeOfId } from '../../../../common/ids';
import { Metrics } from '../../../../common/metrics/metrics';
import { withinTenants } from '../../../../common/tenant';
import { Database } from '../../../../database/pool/database.service';
import type { Transaction } from '../../../../database/statements/transaction';
import { type WantedRecipients, type WarmUpBudget, WarmUpService } from '../../../domains/restrictions/warm-up.service';
import { type StatDelta, StatsService } from '../../../stats/stats.service';
import {
  isListed,
  type MailLookup,
  type SuppressionReason,
  SuppressionsService,
} from '../../../suppressions/suppressions.service';
import { AcceptPlan } from './accept-plan';
import { AcceptRepository } from './accept.repository';
import { addressesOf, organizationsOf, screen } from './screen-submissions';
import type { AcceptedEmail, ScreenedSubmission, Submission, SubmissionOutcome } from '../request/send-request';
import { MonthlyLimits, TestLimits } from './usage-limits.service';

/** The statements of one accept transaction, which several requests share. */
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
   * @param budget reserved recipients of domains in their warm-up
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
    this.accepts.storeResponses(plan.responsesToStore(refused), now, tx);
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
   * Charges the recipients of new emails to the limits of test mode, of organizations, and of live domains in warm-up or
   * restricted; returns the refusals by email id.
   */
  private async chargeLimits(
    emails: readonly AcceptedEmail[],
    budget: WarmUpBudget,
    tx: Transaction,
  ): Promise<Map<string, AppError>> {
    const refused = await this.testLimits.charge(emails, tx);
    // The transaction may be a retry.
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

/** The statistics of accepted emails, by the hour of their ids, by which lists locate pages. */
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

const NONE_SUPPRESSED: ReadonlyMap<number, SuppressionReason> = new Map();

/**
 * Screens and commits a batch of submissions, within today's limits of its domains.
 *
 * Few recipients are suppressed, so a batch is first written optimistically, as if none were; its transaction fails otherwise,
 * and the batch is screened and written again. That saves a round trip (5 to 10 % of all emails/s).
 */
@Injectable()
export class AcceptCommit {
  private readonly optimistic = new OptimisticAccept();
  private readonly accepted;

  constructor(
    private readonly database: Database,
    private readonly suppressions: SuppressionsService,
    private readonly warmUp: WarmUpService,
    private readonly transaction: AcceptTransaction,
    metrics: Metrics,
  ) {
    const labels = { mode: ['live', 'test'] };
    this.accepted = metrics.counter({ name: 'emails_accepted_total', help: 'Emails accepted by this process', labels });
  }

  /** Returns one outcome per submission, in order. */
  async run(submissions: readonly Submission[]): Promise<SubmissionOutcome[]> {
    const addresses = addressesOf(submissions);
    const written = this.optimistic.shouldTry() ? await this.tryUnscreened(submissions, addresses) : undefined;
    if (written) return written;
    const tenants = organizationsOf(submissions);
    const blocked = await withinTenants(tenants, () => this.suppressions.findBlocking(addresses));
    return this.write(screen(submissions, blocked), tenants, []);
  }

  /** Returns undefined, and writes nothing, when a recipient may be suppressed. */
  private async tryUnscreened(
    submissions: readonly Submission[],
    addresses: readonly MailLookup[],
  ): Promise<SubmissionOutcome[] | undefined> {
    try {
      const outcomes = await this.write(screen(submissions, NONE_SUPPRESSED), organizationsOf(submissions), addresses);
      this.optimistic.succeeded();
      return outcomes;
    } catch (error) {
      if (!isListed(error)) throw error;
      this.optimistic.failed();
      return undefined;
    }
  }

  /** @param unlisted addresses; the transaction fails when one of them may be suppressed */
  private async write(
    screened: readonly ScreenedSubmission[],
    tenants: readonly string[],
    unlisted: readonly MailLookup[],
  ): Promise<SubmissionOutcome[]> {
    const budget = await this.warmUp.reserve(limitedRecipients(screened));
    try {
      const { outcomes, written } = await this.database.transaction((tx) => {
        this.suppressions.refuseListed(unlisted, tx);
        return this.transaction.run(screened, budget, tx);
      }, tenants);
      for (const { command } of written) this.accepted.inc({ mode: command.mode });
      await this.warmUp.settle(budget);
      return outcomes;
    } catch (error) {
      // Where it is unknown whether the emails were committed, their recipients stay reserved.
      if (!(error instanceof CommitUnknownError)) await this.warmUp.cancel(budget);
      throw error;
    }
  }
}

/** One entry per email of a limited domain, including replays, which are not recognised yet. */
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

const SHORTEST = 64;
const LONGEST = 4_096;

/**
 * Decides whether a batch is written optimistically, as if none of its recipients were suppressed, or screened first. A failed
 * attempt costs the whole batch twice, so after it batches are screened for a while: 64 batches, twice as many after each
 * further failure, half as many after each success.
 */
export class OptimisticAccept {
  private left = 0;
  private span = SHORTEST;

  /** Whether to write the next batch optimistically; to be called once per batch. */
  shouldTry(): boolean {
    if (this.left === 0) return true;
    this.left -= 1;
    return false;
  }

  succeeded(): void {
    this.span = Math.max(SHORTEST, this.span / 2);
  }

  failed(): void {
    this.left = this.span;
    this.span = Math.min(LONGEST, this.span * 2);
  }
}
