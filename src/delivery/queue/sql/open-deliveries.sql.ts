import type { Mode } from '../../../common/tenant';
import type { Statement } from '../../../database/statements/statement';
import type { DeliveryKey, EmailKey, MailCategory } from '../../ports/delivery';
import type { TraceContext } from '../../../common/tracing/tracing';

// Puts accepted recipients into the queue.
// Writes: deliveries (insert only). Locks: none beyond the new rows. Rows: the recipients of a batch of accepts.
// Not the ORM: unnest of arrays inserts 58,000 rows/s where repository.insert reaches 25,600 (500 at a time).
const ENQUEUE = `
  insert into deliveries (
    organization_id, mode, email_id, position, domain_id, recipient, destination, category, state,
    due_at, first_due_at, expires_at, trace_context
  )
  select
    organization_id, mode, email_id, position, domain_id, recipient, destination, category,
    case when due_at > $11 then 'waiting' else 'ready' end,
    due_at, due_at, expires_at, decode(trace, 'hex')
  from unnest(
    $1::uuid[], $2::text[], $3::uuid[], $4::smallint[], $5::uuid[], $6::text[], $7::text[], $8::text[],
    $9::timestamptz[], $10::timestamptz[], $12::text[]
  ) as given (
    organization_id, mode, email_id, position, domain_id, recipient, destination, category, due_at, expires_at, trace
  )`;

/** Inserts new deliveries: `ready`, or `waiting` when they are due after `now`. */
export function enqueueDeliveries(rows: readonly NewDelivery[], now: Date): Statement<never> {
  return {
    name: 'enqueue-deliveries',
    text: ENQUEUE,
    values: [
      rows.map((row) => row.organizationId),
      rows.map((row) => row.mode),
      rows.map((row) => row.emailId),
      rows.map((row) => row.position),
      rows.map((row) => row.domainId),
      rows.map((row) => row.recipient),
      rows.map((row) => row.destination),
      rows.map((row) => row.category),
      rows.map((row) => row.dueAt),
      rows.map((row) => row.expiresAt),
      now,
      // An array that is shorter than the others is filled up with nulls: most batches have no trace at all.
      rows.some((row) => row.traceContext) ? rows.map((row) => row.traceContext ?? null) : [],
    ],
  };
}

/** A recipient to be delivered to, not before `dueAt`. */
export interface NewDelivery extends DeliveryKey {
  readonly domainId: string;
  readonly recipient: string;
  readonly destination: string;
  readonly category: MailCategory;
  readonly dueAt: Date;
  readonly expiresAt: Date | null;
  /** The span that it continues, of a sampled trace. */
  readonly traceContext?: TraceContext | undefined;
}

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
  /** No attempt has begun, though the time that it was scheduled for, if any, has come. */
  readonly queued: number;
  /** An attempt has begun: it runs, or the next one is waited for. */
  readonly sending: number;
}

const COUNT_OPEN = `
  select
    count(*) filter (where attempt = 0 and first_due_at <= $6)::int as queued,
    count(*) filter (where attempt > 0)::int as sending
  from (
    select domain_id, attempt, first_due_at
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
