import { Injectable } from '@nestjs/common';
import { Clock } from '../../../common/clock';
import type { Transaction } from '../../../database/transaction';
import { ExportParts } from '../export/export-parts.service';
import { PrivacyVault } from '../privacy-vault.service';
import type { RequestKey } from './erasure-progress';
import { ErasedRequestsRepository } from './erased-requests.repository';

/** The requests of a subject that is erased: they stay in the history, without the address. */
@Injectable()
export class ErasedRequests {
  constructor(
    private readonly requests: ErasedRequestsRepository,
    private readonly parts: ExportParts,
    private readonly vault: PrivacyVault,
    private readonly clock: Clock,
  ) {}

  /** Answers how many exports had a result. @param erasure stays as it is */
  async close(erasure: RequestKey, email: string, tx: Transaction): Promise<number> {
    const { organizationId, mode } = erasure;
    const closed = await this.requests.close(erasure, this.vault.hashesOf(email), this.clock.now(), tx);
    let exports = 0;
    for (const { id, type } of closed) {
      if (type !== 'article_15_access') continue;
      // A statement of its own: it sees what an export has written while its row was waited for.
      if ((await this.parts.deleteOf({ organizationId, mode, id }, tx)) > 0) exports += 1;
    }
    return exports;
  }

  /** Of the erasure itself, at its end. */
  forgetSubject(erasure: RequestKey, tx: Transaction): void {
    this.requests.forgetSubject(erasure, tx);
  }
}
