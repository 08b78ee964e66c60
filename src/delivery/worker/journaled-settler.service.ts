import { Injectable, Logger } from '@nestjs/common';
import { ResultJournal } from './result-journal';
import { type Settlement, Settler } from './settler.service';

/** Settles results, and keeps a note on disk of acceptances until they are committed. */
@Injectable()
export class JournaledSettler {
  private readonly logger = new Logger(JournaledSettler.name);

  constructor(
    private readonly settler: Settler,
    private readonly journal: ResultJournal,
  ) {}

  /** Settles what a killed predecessor had read but not committed. To be called before the first claim. */
  async recover(): Promise<void> {
    const { left, discard } = this.journal.begin();
    if (left.length > 0) this.logger.log(`${left.length} acceptances of an earlier process are settled`);
    await Promise.all(left.map((settlement) => this.settler.settle(settlement)));
    discard();
  }

  /** Resolves once the result is committed, or known to be outdated. */
  async settle(settlement: Settlement): Promise<void> {
    const { kind } = settlement.outcomes[0].outcome;
    if (settlement.claim.mode === 'test' || (kind !== 'sent' && kind !== 'delivered')) {
      return this.settler.settle(settlement);
    }
    this.journal.note(settlement);
    await this.settler.settle(settlement);
    this.journal.settled();
  }

  end(): void {
    this.journal.end();
  }
}
