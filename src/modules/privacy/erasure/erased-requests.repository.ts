import { Injectable } from '@nestjs/common';
import type { Transaction } from '../../../database/transaction';
import type { RequestKey } from './erasure-progress';
import { type ClosedRequest, closeRequests, forgetSubject } from './sql/close-requests.sql';

@Injectable()
export class ErasedRequestsRepository {
  /** Answers those that have been changed. */
  close(owner: RequestKey, hashes: readonly Buffer[], now: Date, tx: Transaction): Promise<ClosedRequest[]> {
    return tx.run(closeRequests(owner, hashes, now));
  }

  forgetSubject(request: RequestKey, tx: Transaction): void {
    tx.write(forgetSubject(request));
  }
}
