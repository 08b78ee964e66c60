import { lowerForms, lowerInSql } from '../../../common/address-forms';
import type { Mode } from '../../../common/tenant';
import type { Statement } from '../../../database/statements/statement';
import type { DeliveryKey } from '../../ports/delivery';
import type { Delivery } from '../queue.entity';

// Open deliveries of every organization, page by page, for operators. Nothing here is hot.

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
  readonly recipient?: string | undefined;
}

/** The last delivery of the page before; its mode is empty for the first page. */
export interface DeliveryCursor {
  readonly organizationId: string;
  readonly mode: Mode | '';
  readonly emailId: string;
  readonly position: number;
}

const IN_RANGE = `(d.organization_id, d.mode, d.email_id, d.position) > ($1::uuid, $2::text, $3::uuid, $4::smallint)
    and d.organization_id <= coalesce($5::uuid, 'ffffffff-ffff-ffff-ffff-ffffffffffff')
    and ($5::uuid is null or d.organization_id = $5)`;

const MATCHES = `${IN_RANGE}
    and ($6::text is null or d.destination = $6)
    and ($7::text is null or d.state = $7)
    and ($8::uuid is null or d.email_id = $8)
    and ($9::text[] is null or ${lowerInSql('d.recipient')} = any ($9))`;

const IN_ORDER = 'order by d.organization_id, d.mode, d.email_id, d.position';

// One page of the open deliveries, in the order of their keys.
// Reads: deliveries (primary key, from the last page on; an organization bounds the walk; an email is looked up in each
// organization and mode with open deliveries, which are found one by one; given keys are looked up). Locks: none. Rows: up to $10.
// Not the ORM: a walk by a composite key.
const list = (source: string) => `
  ${source}
  where ${MATCHES}
  ${IN_ORDER}
  limit $10`;

const COLUMNS_OF_LIST = `
  select d.organization_id as "organizationId", d.mode, d.email_id as "emailId", d.position, d.recipient, d.destination,
    d.state, d.attempt as attempts, d.due_at as "dueAt", d.first_due_at as "firstDueAt", d.expires_at as "expiresAt",
    d.held_reason as "heldReason"`;

const LIST = list(`${COLUMNS_OF_LIST} from deliveries d`);

/** 0.1 s, if each is on a page of its own. */
const NEAR = 5_000;

const LIST_NEAR = list(`
  ${COLUMNS_OF_LIST}
  from (select * from deliveries d where ${IN_RANGE} ${IN_ORDER} limit ${NEAR}) d`);

// The same page, found in the order of the table's pages: what few deliveries match may be at the end of the walk, and a walk of a
// million takes 20 s if each is on another page than the one before.
// Reads: deliveries (whole, or the organization's, or those that are claimed): some 0.5 s for a million. Locks: none. Rows: up to $10.
const LIST_SCAN = `
  ${COLUMNS_OF_LIST}
  from (select * from deliveries d where ${MATCHES} offset 0) d
  ${IN_ORDER}
  limit $10`;

const LIST_OF_EMAIL = list(`
  with recursive tenants as (
    (
      select organization_id, mode from deliveries
      where (organization_id, mode) >= ($1::uuid, $2::text)
      order by organization_id, mode
      limit 1
    )
    union all
    select next.organization_id, next.mode
    from tenants t
    cross join lateral (
      select organization_id, mode from deliveries
      where (organization_id, mode) > (t.organization_id, t.mode)
      order by organization_id, mode
      limit 1
    ) next
  )
  ${COLUMNS_OF_LIST}
  from tenants t
  cross join lateral (
    select * from deliveries where organization_id = t.organization_id and mode = t.mode and email_id = $8 offset 0
  ) d`);

const LIST_AMONG = list(`${COLUMNS_OF_LIST}
  from unnest($11::uuid[], $12::text[], $13::uuid[], $14::smallint[]) as k (organization_id, mode, email_id, position)
  cross join lateral (
    select * from deliveries
    where organization_id = k.organization_id and mode = k.mode and email_id = k.email_id and position = k.position
    offset 0
  ) d`);

type Listing = Statement<ListedDelivery>;

/**
 * Returns a page of open deliveries that match a filter.
 * @param after the last key of the page before
 * @param limit page size
 * @returns a statement, and for a filter that few deliveries may match the one to run if that finds less than a page
 */
export function listDeliveries(
  filter: DeliveryFilter,
  after: DeliveryCursor,
  limit: number,
): [first: Listing, whole?: Listing] {
  const values = listValues(filter, after, limit);
  const { destination, state, emailId, recipient } = filter;
  if (emailId !== undefined) return [{ name: 'list-deliveries-of-email', text: LIST_OF_EMAIL, values }];
  if ((destination ?? state ?? recipient) === undefined) return [{ name: 'list-deliveries', text: LIST, values }];
  return [
    { name: 'list-deliveries-near', text: LIST_NEAR, values },
    { name: 'list-deliveries-by-scan', text: LIST_SCAN, values, isScan: true },
  ];
}

/** The same among some keys, all of which are after `after`. */
export function listAmong(
  keys: readonly DeliveryKey[],
  filter: DeliveryFilter,
  after: DeliveryCursor,
  limit: number,
): Statement<ListedDelivery> {
  return {
    name: 'list-deliveries-among',
    text: LIST_AMONG,
    values: [
      ...listValues(filter, after, limit),
      keys.map((key) => key.organizationId),
      keys.map((key) => key.mode),
      keys.map((key) => key.emailId),
      keys.map((key) => key.position),
    ],
  };
}

function listValues(
  { organizationId, destination, state, emailId, recipient }: DeliveryFilter,
  { organizationId: atOrganizationId, mode, emailId: atEmailId, position }: DeliveryCursor,
  limit: number,
): unknown[] {
  const filter = [organizationId, destination, state, emailId, recipient && lowerForms(recipient)];
  return [atOrganizationId, mode, atEmailId, position, ...filter.map((value) => value ?? null), limit];
}
