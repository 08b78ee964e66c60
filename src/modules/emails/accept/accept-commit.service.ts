import { Injectable } from '@nestjs/common';
import { UnavailableError } from '../../../common/errors/app-error';
import { Metrics } from '../../../common/metrics/metrics';
import { withinTenants } from '../../../common/tenant-scope';
import { Database } from '../../../database/database.service';
import { type WantedRecipients, WarmUpService } from '../../domains/restrictions/warm-up.service';
import {
  isListed,
  type MailLookup,
  type SuppressionReason,
  SuppressionsService,
} from '../../suppressions/suppressions.service';
import { AcceptTransaction } from './accept-transaction.service';
import { addressesOf, organizationsOf, screen } from './screen-submissions';
import type { ScreenedSubmission, Submission, SubmissionOutcome } from './submission';

const NONE_SUPPRESSED: ReadonlyMap<number, SuppressionReason> = new Map();

/**
 * Screens and commits a coalesced accept, within what its domains may still send today.
 *
 * Few recipients are suppressed, so a batch is written as if none were, and its transaction fails if that is wrong: then it
 * is looked up and written again. That saves the round trip between look-up and writes (5 to 10 % of all emails/s).
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

  /** Undefined when a recipient may be suppressed; nothing has been written then. */
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

  /** @param unlisted addresses none of which may be suppressed */
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
      // With a lost connection it is unknown what became of the emails: their recipients stay counted.
      if (!(error instanceof UnavailableError)) await this.warmUp.cancel(budget);
      throw error;
    }
  }
}

/** One entry per email, replays among them: at this point they are not known as such. */
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
 * Decides whether a batch is written optimistically, as if none of its recipients were suppressed, or looked up first. A
 * failed attempt costs the whole batch a second time, so for a while after it every batch is looked up: 64 batches, twice as
 * many after each further failure, half as many after each success.
 */
export class OptimisticAccept {
  private left = 0;
  private span = SHORTEST;

  /** To be called once per batch. */
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
