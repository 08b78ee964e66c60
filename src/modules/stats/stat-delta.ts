import type { Mode } from '../../common/tenant';

export const COUNTERS = [
  'emails',
  'accepted',
  'sent',
  'delivered',
  'bounced',
  'failed',
  'deferred',
  'complaints',
  'unsubscribes',
  'opens',
  'clicks',
] as const;

/** `emails` and `accepted` count emails and their recipients; the rest count recipients. */
export type Counter = (typeof COUNTERS)[number];

/** Something to count at the moment when it happened. */
export interface StatDelta {
  readonly organizationId: string;
  readonly mode: Mode;
  readonly domainId: string;
  readonly occurredAt: Date;
  readonly counter: Counter;
  readonly by: number;
}
