import type { Mode } from '../../../common/tenant';
import type { Statement } from '../../../database/statement';
import type { EmailKey } from '../../ports/delivery';

// What the queue still holds of some emails: for the detail view.
// Reads: deliveries (primary key). Locks: none. Rows: the open recipients of one email.
// Not the ORM: the queue has no entity; it is read and written by statements only.
export interface OpenDelivery {
  position: number;
  state: 'waiting' | 'ready' | 'claimed' | 'held';
  dueAt: Date;
  /** Made, those under way included. */
  attempts: number;
  firstDueAt: Date;
  expiresAt: Date | null;
  /** Of one that an operator holds: why. */
  heldReason: string | null;
}

const FIND_OPEN = `
  select position, state, due_at as "dueAt", attempt as attempts, first_due_at as "firstDueAt", expires_at as "expiresAt",
    held_reason as "heldReason"
  from deliveries
  where organization_id = $1 and mode = $2 and email_id = $3`;

/** Returns an email's recipients that have no outcome yet, in no particular order. */
export function findOpenDeliveries(email: EmailKey): Statement<OpenDelivery> {
  return { name: 'find-open-deliveries', text: FIND_OPEN, values: [email.organizationId, email.mode, email.emailId] };
}

// How many recipients of a span of accepted emails are still open, and how far they are.
// Reads: deliveries (primary key, newest emails first). Locks: none. Rows: at most $5, whatever the depth of the queue.
// Not the ORM: a bounded count with filters.
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

const COUNT_OPEN = `
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

/** @param limit how many of the range's newest recipients are read, those of all domains together */
export function countOpen(range: OpenRange, limit: number, now: Date): Statement<OpenCount> {
  const { organizationId, mode, domainId, fromId, toId } = range;
  return {
    name: 'count-open',
    text: COUNT_OPEN,
    values: [organizationId, mode, fromId, toId, limit, now, domainId ?? null],
  };
}

// Whether anything is still to be delivered of emails in a span of ids, of every organization.
// Reads: deliveries (whole: no index begins with the email). Locks: none. Rows: one.
// Not the ORM: the queue has no entity. Asked when a month of emails is about to be removed.
const HAS_OPEN = 'select exists (select from deliveries where email_id >= $1 and email_id < $2) as "isOpen"';

/** One row: whether an email with an id from `fromId` (included) to `toId` (excluded) has an open delivery. */
export function hasOpenBetween(fromId: string, toId: string): Statement<{ isOpen: boolean }> {
  return { name: 'has-open-between', text: HAS_OPEN, values: [fromId, toId] };
}
