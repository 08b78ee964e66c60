import { Injectable } from '@nestjs/common';
import { SuppressionErasure, type SuppressionReason } from '../../suppressions/suppression-erasure.service';
import type { ShownRequest } from '../requests/privacy-requests.service';

/** What has to be kept after an erasure, and why that is lawful. */
export interface RetentionException {
  readonly category: 'suppression';
  readonly reason: SuppressionReason;
  readonly basis: string;
}

/** What an erasure has to leave. */
@Injectable()
export class RetentionExceptionsService {
  constructor(private readonly suppressions: SuppressionErasure) {}

  /** Of a completed one what it has left, of another what is known already. */
  async of({ organizationId, mode, receipt, subject, email }: ShownRequest): Promise<readonly RetentionException[]> {
    if (receipt) return receipt.retentionExceptions as RetentionException[];
    if (!subject) return [];
    return toRetentionExceptions(await this.suppressions.keptReasons({ organizationId, mode }, email));
  }
}

const BASIS: Partial<Record<SuppressionReason, string>> = {
  spam_complaint:
    'The person asked not to be written to (GDPR article 21); kept as a keyed hash so that this is heeded',
  hard_bounce:
    'The mailbox does not exist; kept as a keyed hash so that its server is not bothered again (article 6(1)(f))',
};
const OTHERWISE = 'Blocked by the operator; kept as a keyed hash so that the block holds (article 6(1)(f))';

export function toRetentionExceptions(reasons: readonly SuppressionReason[]): RetentionException[] {
  return reasons.map((reason) => ({ category: 'suppression', reason, basis: BASIS[reason] ?? OTHERWISE }));
}
