import { newId } from '../../src/common/ids';
import { TenantTurns } from '../../src/delivery/policy/tenant-turns';
import type { ClaimedDelivery, MailCategory } from '../../src/delivery/ports/delivery';
import { DeliveryQueueRepository } from '../../src/delivery/queue/delivery-queue.repository';
import type { Clock } from '../../src/common/clock';
import { ClaimPlanner } from '../../src/delivery/worker/claim-plan';
import { WorkerSlots } from '../../src/delivery/worker/worker-slots';
import type { NewDelivery } from '../../src/delivery/queue/sql/open-deliveries.sql';
import type { ClaimInput } from '../../src/delivery/queue/sql/claim-deliveries.sql';
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

/** A claim by `sessionId` for one organization of its whole share. */
export function claimInput(sessionId: string, fields: Partial<ClaimInput> = {}): ClaimInput {
  return { sessionId, shares: [], blockedDestinations: [], bulkRounding: 0, now: new Date(), ...fields };
}

export interface ClaimRound extends Partial<Omit<ClaimInput, 'shares'>> {
  readonly limit?: number;
  /** Where among the destinations every organization begins. */
  readonly cursor?: string;
}

/** A first claim, as a worker that has just started makes it: of at most `limit`, in turn among the first 32 organizations. */
export async function claimRound(
  { database }: Pick<OpenTestDatabase, 'database'>,
  sessionId: string,
  { limit = 100, cursor = '', ...fields }: ClaimRound = {},
): Promise<ClaimedDelivery[]> {
  const queue = new DeliveryQueueRepository(database);
  const turns = new TenantTurns();
  const { blockedDestinations = [] } = fields;
  const walk = { afterOrganizationId: NIL_ID, blockedDestinations, mostFound: 32, mostSeen: 512 };
  turns.found((await queue.findReadyTenants(walk)).map(({ organizationId }) => organizationId));
  const shares = [...turns.next(limit)].map(([organizationId, share]) => ({ organizationId, share, cursor }));
  return queue.claim(claimInput(sessionId, { ...fields, shares }));
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
