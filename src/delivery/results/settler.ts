import { setMaxListeners } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { Injectable, Logger } from '@nestjs/common';
import { MicroBatcher } from '../../common/async/micro-batcher';
import { MINUTE, SECOND } from '../../common/clock';
import { AppError, reasonOf } from '../../common/errors/app-error';
import { ranOutOfTime } from '../../database/statements/database-errors';
import type { Settlement } from '../ports/outcome';
import { isAccepted, ResultCommit } from './result-commit';
import { ResultJournal } from './result-journal';

/** A result that the database has refused so often by itself will not be taken: what can be of it is stored. */
const MAX_REFUSALS = 4;
const MAX_REFUSED_MS = 5 * MINUTE;
/** Acceptances that are put aside, and tried again from memory; those beyond are in the journal alone, which the next start reads. */
const MAX_ASIDE = 1_000;
/**
 * No caller waits for a result, and what a transaction costs by itself (1.8 ms of Postgres) is shared by its mails: twice as
 * many took a tenth off each. What is not committed when the process is killed is in the journal.
 */
const PATIENCE = { weight: 128, ms: 50, always: true };
const MAX_BATCH = 200;
const NO_FAILURE = (): undefined => undefined;

/**
 * Commits results: queue, recipients, emails, events, counters and suppressions in one transaction per micro-batch.
 * While the database is away results are kept and tried again, so an outage by itself repeats no mail; a result whose
 * claim has been given to another worker by then changes nothing and is counted. A result that the database refuses is tried apart
 * from the others, and in the end stored as far as possible (`ResultCommit.salvage`); an acceptance that is put aside is tried
 * again until the database takes it. Acceptances of live mail are noted in the journal until they are committed, so that a killed
 * process repeats none of them.
 */
@Injectable()
export class Settler {
  private readonly logger = new Logger(Settler.name);
  private readonly abandoned = new AbortController();
  /** The unit of pauses; a test shortens it. */
  retryMs = SECOND;
  private aside = 0;
  private readonly batcher = new MicroBatcher<Settlement, Error | undefined>((batch) => this.commit(batch), {
    maxWeight: MAX_BATCH,
    concurrency: 2,
    patience: PATIENCE,
    tookTooLong: ranOutOfTime,
  });
  /** For what a batch was refused for, so that it costs the others no more. */
  private readonly apart = new MicroBatcher<Settlement, Error | undefined>((batch) => this.commit(batch), {
    maxWeight: 1,
    concurrency: 1,
  });

  constructor(
    private readonly results: ResultCommit,
    private readonly journal: ResultJournal,
  ) {
    // Every result that waits out an outage listens.
    setMaxListeners(0, this.abandoned.signal);
  }

  /** Resolves once the result is committed, found outdated, put aside, or given up. */
  async settle(settlement: Settlement): Promise<void> {
    const isAcceptance = isAccepted(settlement.outcomes[0].outcome);
    const isNoted = isAcceptance && settlement.claim.mode !== 'test';
    const settled = isNoted ? this.journal.note(settlement) : () => undefined;
    if (await this.commitEventually(settlement)) settled();
    else if (isAcceptance) void this.commitWhenMended(settlement, settled);
  }

  /** Tries no longer to commit; acceptances stay in the journal. To be called when the process must end. */
  abandon(): void {
    this.abandoned.abort();
  }

  /** Ends the journal, which keeps what is put aside; to be called when nothing is under way. */
  end(): void {
    this.abandoned.abort();
    this.journal.end();
  }

  /** False: given up, or put aside. */
  private async commitEventually(settlement: Settlement): Promise<boolean> {
    const { signal } = this.abandoned;
    let refusals = 0;
    for (let failures = 0; !signal.aborted; failures += 1) {
      try {
        return await this.tryCommit(settlement, refusals);
      } catch (error) {
        if (!(error instanceof AppError)) refusals += 1;
        this.logger.error(`Results could not be committed, trying again: ${reasonOf(error)}`);
        await delay(this.pauseMs(failures, refusals), undefined, { signal }).catch(() => undefined);
      }
    }
    return false;
  }

  /** Of an acceptance that is put aside: nobody needs to restart the worker once the cause is mended. Does not reject. */
  private async commitWhenMended(settlement: Settlement, settled: () => void): Promise<void> {
    const { signal } = this.abandoned;
    if (this.aside >= MAX_ASIDE) return;
    this.aside += 1;
    for (let refusals = MAX_REFUSALS; !signal.aborted; refusals += 1) {
      await delay(this.pauseMs(0, refusals), undefined, { signal, ref: false }).catch(() => undefined);
      if (signal.aborted || !(await this.results.retry(settlement).catch(() => false))) continue;
      settled();
      break;
    }
    this.aside -= 1;
  }

  /** @returns false when it could only be put aside; an acceptance stays in the journal then. @throws why it is not stored */
  private async tryCommit(settlement: Settlement, refusals: number): Promise<boolean> {
    const failure = await (refusals === 0 ? this.batcher : this.apart).add(settlement);
    if (!failure) return true;
    if (failure instanceof AppError || refusals + 1 < MAX_REFUSALS) throw failure;
    return (await this.results.salvage(settlement, failure)) !== 'held';
  }

  /** One result that cannot be committed must not hold up the others of its batch: then each goes by itself. */
  private async commit(batch: readonly Settlement[]): Promise<(Error | undefined)[]> {
    try {
      await this.write(batch);
      return batch.map(() => undefined);
    } catch (error) {
      if (error instanceof AppError) throw error;
      if (batch.length === 1) return [error as Error];
      const failures: (Error | undefined)[] = [];
      for (const settlement of batch) {
        failures.push(await this.write([settlement]).then(NO_FAILURE, (failure: Error) => failure));
      }
      return failures;
    }
  }

  private async write(batch: readonly Settlement[]): Promise<void> {
    const outdated = batch.length - (await this.results.commit(batch));
    if (outdated === 0) return;
    this.logger.warn(`${outdated} results came too late: their claims have passed to another worker`);
  }

  /** Longer from the time on when not even putting it aside has succeeded. */
  private pauseMs(failures: number, refusals: number): number {
    if (refusals >= MAX_REFUSALS) return Math.min(MAX_REFUSED_MS, this.retryMs * 2 ** refusals);
    return this.retryMs * Math.min(10, 1 + failures);
  }
}
