// How many recipients of a span of accepted emails are still open, and how far they are.
// Reads: deliveries (primary key, newest emails first). Locks: none. Rows: at most $5, whatever the depth of the queue.
// Not the ORM: a bounded count with filters.
import type { Mode } from '../../../common/tenant';
import type { Statement } from '../../../database/statement';

export interface OpenRange {
  readonly organizationId: string;
  readonly mode: Mode;
  readonly domainId: string | undefined;
  /** Ids of emails: from inclusive, to exclusive. */
  readonly fromId: string;
  readonly toId: string;
}

export interface OpenCount {
  /** Due, and no attempt has begun. */
  readonly queued: number;
  /** An attempt has begun: it runs, or the next one is waited for. */
  readonly sending: number;
}

const TEXT = `
  select
    count(*) filter (where attempt = 0 and due_at <= $6)::int as queued,
    count(*) filter (where attempt > 0)::int as sending
  from (
    select domain_id, attempt, due_at
    from deliveries
    where organization_id = $1 and mode = $2 and email_id >= $3 and email_id < $4
    order by email_id desc
    limit $5
  ) newest
  where $7::uuid is null or domain_id = $7`;

/** @param limit how many of the range's newest recipients are looked at, those of all domains together */
export function countOpen(range: OpenRange, limit: number, now: Date): Statement<OpenCount> {
  const { organizationId, mode, domainId, fromId, toId } = range;
  return {
    name: 'count-open',
    text: TEXT,
    values: [organizationId, mode, fromId, toId, limit, now, domainId ?? null],
  };
}
