// What operators see of the queue, of every organization. Nothing here is hot.
import type { Mode } from '../../../common/tenant';
import type { Statement } from '../../../database/statement';
import type { DeliveryKey } from '../../ports/delivery';
import type { Delivery } from '../queue.entity';

export const QUEUE_GROUPS = ['organization', 'destination', 'state'] as const;

export type QueueGroup = (typeof QUEUE_GROUPS)[number];

/** The open deliveries that have something in common. */
export interface QueueShare {
  key: string;
  ready: number;
  waiting: number;
  claimed: number;
  held: number;
  /** How long ago the first of them was due for the first time. */
  oldestSeconds: number;
}

const COLUMN: Readonly<Record<QueueGroup, string>> = {
  organization: 'organization_id',
  destination: 'destination',
  state: 'state',
};

// Counts the queue by one of its columns, the largest shares first.
// Reads: deliveries (whole, but it holds open work only: 0.2 s for a million). Locks: none. Rows: up to $1.
// Not the ORM: aggregates with filters.
const countBy = (group: QueueGroup): string => `
  select
    ${COLUMN[group]}::text as key,
    count(*) filter (where state = 'ready')::int as ready,
    count(*) filter (where state = 'waiting')::int as waiting,
    count(*) filter (where state = 'claimed')::int as claimed,
    count(*) filter (where state = 'held')::int as held,
    greatest(0, extract(epoch from now() - min(first_due_at)))::int as "oldestSeconds"
  from deliveries
  group by ${COLUMN[group]}
  order by count(*) desc, 1
  limit $1`;

export function countQueueBy(group: QueueGroup, limit: number): Statement<QueueShare> {
  return { name: `count-queue-by-${group}`, text: countBy(group), values: [limit] };
}

/** One open delivery. */
export interface ListedDelivery extends DeliveryKey {
  readonly recipient: string;
  readonly destination: string;
  readonly state: Delivery['state'];
  readonly attempts: number;
  readonly dueAt: Date;
  readonly firstDueAt: Date;
  readonly expiresAt: Date | null;
  /** Of one that an operator holds: why. */
  readonly heldReason: string | null;
}

/** An absent property matches everything. */
export interface DeliveryFilter {
  readonly organizationId?: string | undefined;
  readonly destination?: string | undefined;
  readonly state?: Delivery['state'] | undefined;
  readonly emailId?: string | undefined;
}

/** The last delivery of the page before; its mode is empty before all. */
export interface DeliveryCursor {
  readonly organizationId: string;
  readonly mode: Mode | '';
  readonly emailId: string;
  readonly position: number;
}

// One page of the open deliveries, in the order of their keys.
// Reads: deliveries (primary key, from the last page on; an organization bounds the walk). Locks: none. Rows: up to $9.
// Not the ORM: a walk by a composite key.
const LIST = `
  select d.organization_id as "organizationId", d.mode, d.email_id as "emailId", d.position, d.recipient, d.destination,
    d.state, d.attempt as attempts, d.due_at as "dueAt", d.first_due_at as "firstDueAt", d.expires_at as "expiresAt",
    d.held_reason as "heldReason"
  from deliveries d
  where (d.organization_id, d.mode, d.email_id, d.position) > ($1::uuid, $2::text, $3::uuid, $4::smallint)
    and d.organization_id <= coalesce($5::uuid, 'ffffffff-ffff-ffff-ffff-ffffffffffff')
    and ($5::uuid is null or d.organization_id = $5)
    and ($6::text is null or d.destination = $6)
    and ($7::text is null or d.state = $7)
    and ($8::uuid is null or d.email_id = $8)
  order by d.organization_id, d.mode, d.email_id, d.position
  limit $9`;

export function listDeliveries(
  { organizationId, destination, state, emailId }: DeliveryFilter,
  after: DeliveryCursor,
  limit: number,
): Statement<ListedDelivery> {
  const start = [after.organizationId, after.mode, after.emailId, after.position];
  const filter = [organizationId, destination, state, emailId].map((value) => value ?? null);
  return { name: 'list-deliveries', text: LIST, values: [...start, ...filter, limit] };
}
