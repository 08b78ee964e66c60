import { newId } from '../../src/common/ids';
import { TenantTurns } from '../../src/delivery/policy/turns/tenant-turns';
import type { ClaimedDelivery, MailCategory } from '../../src/delivery/ports/delivery';
import { DeliveryQueueRepository } from '../../src/delivery/queue/delivery-queue.repository';
import type { Clock } from '../../src/common/clock';
import { ClaimPlanner } from '../../src/delivery/worker/claims/claim-plan';
import { WorkerSlots } from '../../src/delivery/worker/slots/worker-slots';
import type { NewDelivery } from '../../src/delivery/queue/sql/open-deliveries.sql';
import type { ClaimInput } from '../../src/delivery/queue/sql/claim-deliveries.sql';
import type { ReadyFilter } from '../../src/delivery/queue/sql/ready-destinations.sql';
import { type GroupRoom, quotasOf } from '../../src/delivery/worker/claims/claim-quotas';
import type { OpenTestDatabase } from '../setup/open-test-database';

export const NIL_ID = '00000000-0000-0000-0000-000000000000';

/** One recipient's delivery, by default due at once. */
export function newDelivery(fields: Partial<NewDelivery> = {}): NewDelivery {
  const destination = fields.destination ?? 'example.com';
  return {
    organizationId: newId(),
    mode: 'live',
    emailId: newId(),
    position: 0,
    domainId: newId(),
    recipient: `ada@${destination}`,
    destination,
    category: 'transactional',
    dueAt: new Date(),
    expiresAt: null,
    ...fields,
  };
}

/** Of a worker with free slots and one next hop for everything: nothing is held back. */
export function openPlanner(clock: Clock): ClaimPlanner {
  const slots = new WorkerSlots(clock, { slots: 100, sharedHop: true, connectionsPerHost: 20 });
  return new ClaimPlanner(slots, { slots: 100, startConcurrency: undefined }, clock);
}

/** A claim by `sessionId`, by default of nothing. */
export function claimInput(sessionId: string, fields: Partial<ClaimInput> = {}): ClaimInput {
  return { sessionId, quotas: [], bulkRounding: 0, now: new Date(), ...fields };
}

export interface ShareInput extends Partial<ClaimInput> {
  /** What each organization may have, and where among its destinations it begins. */
  readonly shares?: readonly { readonly organizationId: string; readonly share: number; readonly cursor: string }[];
  readonly filter?: ReadyFilter;
  /** By default there is room for anything. */
  readonly roomOf?: (destination: string) => GroupRoom;
}

/** A claim as a worker makes it: of the destinations that have work, those with room take equal shares. */
export async function claimShares(
  { database }: Pick<OpenTestDatabase, 'database'>,
  sessionId: string,
  { shares = [], filter = { blocked: [] }, roomOf = (key) => ({ key, limit: Infinity }), ...fields }: ShareInput,
): Promise<ClaimedDelivery[]> {
  const queue = new DeliveryQueueRepository(database);
  const windows = shares.map((one) => ({ ...one, width: 64 }));
  const ready = await queue.findReadyDestinations(windows, filter);
  const quotas = shares.flatMap(({ organizationId, share }) => {
    const own = ready.filter((one) => one.organizationId === organizationId);
    const destinations = own.map(({ destination }) => destination);
    return quotasOf(organizationId, share, destinations, roomOf).quotas;
  });
  return queue.claim(claimInput(sessionId, { ...fields, quotas }));
}

export interface ClaimRound extends Omit<ShareInput, 'shares'> {
  readonly limit?: number;
  /** Where among the destinations every organization begins. */
  readonly cursor?: string;
}

/** A first claim, as a worker that has just started makes it: of at most `limit`, in turn among the first 32 organizations. */
export async function claimRound(
  db: Pick<OpenTestDatabase, 'database'>,
  sessionId: string,
  { limit = 100, cursor = '', ...fields }: ClaimRound = {},
): Promise<ClaimedDelivery[]> {
  const turns = new TenantTurns();
  const { filter = { blocked: [] } } = fields;
  const walk = { afterOrganizationId: NIL_ID, filter, mostFound: 32, mostSeen: 512 };
  const found = await new DeliveryQueueRepository(db.database).findReadyTenants(walk);
  turns.found(found.map(({ organizationId }) => organizationId));
  const shares = [...turns.next(limit)].map(([organizationId, share]) => ({ organizationId, share, cursor }));
  return claimShares(db, sessionId, { ...fields, shares });
}

/** Many deliveries, one for each email, created by the database: thousands in a few milliseconds. */
export async function fillQueue(
  { query }: OpenTestDatabase,
  rows: number,
  fields: {
    organizationId?: string;
    destination?: string;
    category?: MailCategory;
    state?: string;
    dueAt?: Date;
  } = {},
): Promise<void> {
  const { organizationId = newId(), destination = 'example.com', state = 'ready', dueAt = new Date() } = fields;
  await query(
    `insert into deliveries (
       organization_id, mode, email_id, position, domain_id, recipient, destination, category, state, due_at, first_due_at
     )
     select $1, 'live', gen_random_uuid(), 0, $1, 'r' || n || '@' || $2, $2, $6, $3, $4, $4
     from generate_series(1, $5::int) n`,
    [organizationId, destination, state, dueAt, rows, fields.category ?? 'transactional'],
  );
}

export const keyOf = ({ organizationId, mode, emailId, position }: NewDelivery | ClaimedDelivery): string =>
  `${organizationId} ${mode} ${emailId} ${position}`;

/** Number of claims by value of a field. */
export function countBy(claims: readonly ClaimedDelivery[], field: 'organizationId' | 'destination' | 'category') {
  const counts = new Map<string, number>();
  for (const claim of claims) counts.set(claim[field], (counts.get(claim[field]) ?? 0) + 1);
  return counts;
}
