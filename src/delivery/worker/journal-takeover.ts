import { Injectable, Logger } from '@nestjs/common';
import { AppError } from '../../common/errors/app-error';
import { isUuid } from '../../common/ids';
import type { Settlement } from '../ports/outcome';
import { WorkerSessionsRepository } from '../queue/worker-sessions.repository';
import { ResultCommit } from './settler';
import { ResultJournal } from './result-journal';

const BATCH = 200;
/** A lease this short is about to end: a worker at work has renewed it long before. */
const DYING_SECONDS = 5;

/**
 * Settles what other sessions on this data directory have read but not committed: those of a killed predecessor, or of a
 * neighbour in another container on the same volume.
 */
@Injectable()
export class JournalTakeover {
  private readonly logger = new Logger(JournalTakeover.name);

  constructor(
    private readonly journal: ResultJournal,
    private readonly sessions: WorkerSessionsRepository,
    private readonly results: ResultCommit,
  ) {}

  /** Every journal there is: that of a predecessor killed just now, too, whose lease lasts a while. @throws UnavailableError */
  takeAll(): Promise<void> {
    return this.take(Infinity);
  }

  /** To be called before the claims of dead sessions are freed, for that makes their results outdated. @throws UnavailableError */
  takeDying(): Promise<void> {
    return this.take(DYING_SECONDS);
  }

  /** Reading is free, as everything in a journal is true and fenced. Removing it takes the end of its session. */
  private async take(mostSecondsLeft: number): Promise<void> {
    const journals = this.journal.foreign();
    if (journals.length === 0) return;
    const leases = await this.sessions.findLeases(journals.map(({ sessionId }) => sessionId).filter(isUuid));
    for (const journal of journals) {
      const secondsLeft = leases.get(journal.sessionId) ?? -Infinity;
      if (secondsLeft > mostSecondsLeft) continue;
      await this.settle(journal.read());
      if (secondsLeft < 0) journal.discard();
    }
  }

  private async settle(left: readonly Settlement[]): Promise<void> {
    let settled = 0;
    for (let from = 0; from < left.length; from += BATCH) settled += await this.commit(left.slice(from, from + BATCH));
    if (settled > 0) this.logger.log(`${settled} acceptances of an earlier session are settled`);
  }

  /** One that cannot be committed must not hold up the others. */
  private async commit(batch: readonly Settlement[]): Promise<number> {
    try {
      return await this.results.commit(batch);
    } catch (error) {
      if (error instanceof AppError) throw error;
      if (batch.length > 1) return this.commitEach(batch);
      this.logger.error(`A result of an earlier session could not be committed: ${(error as Error).message}`);
      return 0;
    }
  }

  private async commitEach(batch: readonly Settlement[]): Promise<number> {
    let settled = 0;
    for (const settlement of batch) settled += await this.commit([settlement]);
    return settled;
  }
}
