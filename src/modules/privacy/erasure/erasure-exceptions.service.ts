import { Injectable } from '@nestjs/common';
import { SuppressionErasure } from '../../suppressions/suppression-erasure.service';
import type { ShownRequest } from '../privacy-requests.service';
import { type RetentionException, toRetentionExceptions } from './retention-exceptions';

/** What an erasure has to leave. */
@Injectable()
export class ErasureExceptions {
  constructor(private readonly suppressions: SuppressionErasure) {}

  /** Of a completed one what it has left, of another what is known already. */
  async of({ organizationId, mode, receipt, subject, email }: ShownRequest): Promise<readonly RetentionException[]> {
    if (receipt) return receipt.retentionExceptions as RetentionException[];
    if (!subject) return [];
    return toRetentionExceptions(await this.suppressions.keptReasons({ organizationId, mode }, email));
  }
}
