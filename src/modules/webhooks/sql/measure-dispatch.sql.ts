// What waits to be sent and how many endpoints there are, of the whole installation.
// Reads: webhook_messages (index webhook_messages_due), webhook_endpoints. Locks: none. Rows: 1.
// Not the ORM: two aggregates in one round trip.
import type { Statement } from '../../../database/statement';

export interface DispatchMeasure {
  readonly pending: number;
  /** How long the message that is due the longest has waited since; 0 when none is due. */
  readonly oldestDueSeconds: number;
  readonly enabled: number;
  readonly failing: number;
  readonly disabled: number;
}

const TEXT = `
  select m.pending::int, m.oldest_due_seconds::float8 as "oldestDueSeconds", e.enabled, e.failing, e.disabled
  from (
    select count(*) as pending,
      greatest(0, coalesce(extract(epoch from $1::timestamptz - min(next_attempt_at)), 0)) as oldest_due_seconds
    from webhook_messages
    where state = 'pending'
  ) m
  cross join (
    select
      count(*) filter (where enabled and failing_since is null)::int as enabled,
      count(*) filter (where enabled and failing_since is not null)::int as failing,
      count(*) filter (where not enabled)::int as disabled
    from webhook_endpoints
  ) e`;

export function measureDispatch(now: Date): Statement<DispatchMeasure> {
  return { name: 'measure-webhook-dispatch', text: TEXT, values: [now] };
}
