import { Injectable, Logger } from '@nestjs/common';
import { Clock, MINUTE, SECOND } from '../../common/clock';
import { AppError, reasonOf } from '../../common/errors/app-error';
import { isUuid } from '../../common/ids';
import type { Settlement } from '../ports/outcome';
import { WorkerSessionsRepository } from '../queue/worker-sessions.repository';
import { type ForeignJournal, ResultJournal } from './result-journal';
import { ResultCommit } from './result-commit';

const BATCH = 200;
/** A lease this short is about to end: a worker at work has renewed it long before. */
const DYING_SECONDS = 5;
/** What could not be settled is tried again after twice as long each time: it may be large, and never succeed. */
const RETRY_MS = SECOND;
const MAX_RETRY_MS = 5 * MINUTE;
/** A journal with a result that was refused for so long: what can be of it is stored. */
const PATIENCE_MS = 8 * SECOND;

interface Count {
  settled: number;
  failed: number;
  /** It has been refused before. */
  readonly isLast: boolean;
}

/**
 * Settles what other sessions on this data directory have read but not committed: those of a killed predecessor, or of a
 * process in another container on the same volume.
 */
@Injectable()
export class JournalTakeover {
  private readonly logger = new Logger(JournalTakeover.name);
  private readonly postponed = new Map<string, { readonly waitMs: number; readonly untilMs: number }>();

  constructor(
    private readonly journal: ResultJournal,
    private readonly sessions: WorkerSessionsRepository,
    private readonly results: ResultCommit,
    private readonly clock: Clock,
  ) {}

  /** Every journal there is: that of a predecessor killed just now, too, whose lease lasts a while. @throws UnavailableError */
  takeAll(): Promise<void> {
    return this.take(Infinity);
  }

  /** Call it before the claims of ended sessions are freed, which makes their results outdated. @throws UnavailableError */
  takeDying(): Promise<void> {
    return this.take(DYING_SECONDS);
  }

  /** Reading is free, as everything in a journal is true and fenced. Removing it takes the end of its session. */
  private async take(mostSecondsLeft: number): Promise<void> {
    const journals = this.journal.foreign();
    for (const name of this.postponed.keys()) {
      if (!journals.some((journal) => journal.name === name)) this.postponed.delete(name);
    }
    if (journals.length === 0) return;
    const leases = await this.sessions.findLeases(journals.map(({ sessionId }) => sessionId).filter(isUuid));
    for (const journal of journals) {
      const secondsLeft = leases.get(journal.sessionId) ?? -Infinity;
      const isPostponed = this.clock.monotonicMs() < (this.postponed.get(journal.name)?.untilMs ?? -Infinity);
      if (secondsLeft > mostSecondsLeft || isPostponed) continue;
      await this.takeOver(journal, secondsLeft < 0);
    }
  }

  /** It is kept unless all of it was read and settled: it may be all that is known of a 250. @throws UnavailableError */
  private async takeOver(journal: ForeignJournal, isOver: boolean): Promise<void> {
    try {
      if (!(await this.settle(journal))) return this.postpone(journal);
      if (isOver) journal.discard();
      this.postponed.delete(journal.name);
    } catch (error) {
      if (error instanceof AppError) throw error;
      this.logger.warn(`The journal ${journal.name} of an earlier session is kept: ${String(error)}`);
      this.postpone(journal);
    }
  }

  private postpone({ name }: ForeignJournal): void {
    const last = this.postponed.get(name);
    const waitMs = last ? Math.min(MAX_RETRY_MS, 2 * last.waitMs) : RETRY_MS;
    this.postponed.set(name, { waitMs, untilMs: this.clock.monotonicMs() + waitMs });
  }

  /** False when a result could not be committed. @throws UnavailableError, or the operating system's error */
  private async settle(journal: ForeignJournal): Promise<boolean> {
    const count = { settled: 0, failed: 0, isLast: (this.postponed.get(journal.name)?.waitMs ?? 0) >= PATIENCE_MS };
    for await (const part of journal.read()) {
      for (let from = 0; from < part.length; from += BATCH) await this.commit(part.slice(from, from + BATCH), count);
    }
    if (count.settled > 0) this.logger.log(`${count.settled} acceptances of an earlier session are settled`);
    return count.failed === 0;
  }

  /** One that cannot be committed must not hold up the others. */
  private async commit(batch: readonly Settlement[], count: Count): Promise<void> {
    try {
      count.settled += await this.results.commit(batch);
    } catch (error) {
      if (error instanceof AppError) throw error;
      if (batch.length > 1) {
        for (const settlement of batch) await this.commit([settlement], count);
        return;
      }
      if (await this.keep(batch, error as Error, count.isLast)) count.settled += 1;
      else count.failed += 1;
    }
  }

  /** Of a result that is refused. @returns false when it has to stay in the journal; its mail is put aside, and not repeated */
  private async keep([settlement]: readonly Settlement[], error: Error, isLast: boolean): Promise<boolean> {
    if (!settlement) return true;
    try {
      if (isLast) return (await this.results.salvage(settlement, error)) !== 'held';
      await this.results.hold(settlement);
    } catch (failure) {
      if (failure instanceof AppError) throw failure;
    }
    this.logger.error(`A result of an earlier session could not be committed, and is kept: ${reasonOf(error)}`);
    return false;
  }
}
