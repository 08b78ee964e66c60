// What operators do with open deliveries, a batch at a time along the queue's primary key.
import { lowerForms, lowerInSql } from '../../../common/address-forms';
import { LAST_ID } from '../../../common/ids';
import type { Mode } from '../../../common/tenant';
import type { Statement } from '../../../database/statements/statement';
import type { DeliveryKey } from '../../ports/delivery';
import type { QueueAction, QueueActionKind } from '../queue.entity';
import { READY_STATE } from './suspect-deliveries.sql';

// Takes the oldest action that is not completed and that no other process works on.
// Reads: queue_actions (partial index queue_actions_running). Locks: its row, skip locked, for the batch that follows.
// Rows: one. Not the ORM: SKIP LOCKED.
const TAKE = `
  select id, action, reason, filter_organization_id as "organizationId", filter_destination as destination,
    filter_email_id as "emailId", filter_recipient as recipient,
    at_organization_id as "atOrganizationId", at_mode as "atMode", at_email_id as "atEmailId", at_position as "atPosition"
  from queue_actions
  where status = 'running' and ($1::uuid is null or id = $1) and id <> all ($2::uuid[])
  order by id
  limit 1
  for update skip locked`;

/** Whether there is one. */
export const HAS_ACTION = "exists (select from queue_actions where status = 'running')";

export type RunningAction = Pick<
  QueueAction,
  | ('id' | 'action' | 'reason' | 'organizationId' | 'destination' | 'emailId' | 'recipient')
  | ('atOrganizationId' | 'atMode' | 'atEmailId' | 'atPosition')
>;

/** @param id undefined for any @param except none of these */
export function takeAction(id: string | undefined, except: readonly string[]): Statement<RunningAction> {
  return { name: 'take-queue-action', text: TAKE, values: [id ?? null, except] };
}

/** A batch, and where it ends unless at the end of the queue. */
export interface TouchedBatch {
  readonly deliveries: readonly TouchedDelivery[];
  readonly end: QueuePlace | undefined;
}

/** One delivery of a batch, in the order of the primary key. */
export interface TouchedDelivery extends DeliveryKey {
  readonly domainId: string;
  readonly recipient: string;
  readonly attempt: number;
  readonly isClaimed: boolean;
  readonly isChanged: boolean;
}

/** Key of a delivery, where a walk of the queue is; the mode is empty before the first one of an organization. */
export type QueuePlace = Omit<DeliveryKey, 'mode'> & { readonly mode: Mode | '' };

// Where the walk of one batch ends: so many deliveries may be examined in a transaction, however few of them an action is for.
// Reads: deliveries (primary key). Locks: none. Rows: one; none when fewer are left. Not the ORM: a composite key.
const REACH = `
  select d.organization_id as "organizationId", d.mode, d.email_id as "emailId", d.position
  from deliveries d
  where (d.organization_id, d.mode, d.email_id, d.position) > ($1::uuid, $2::text, $3::uuid, $4::smallint)
    and d.organization_id <= coalesce($5::uuid, 'ffffffff-ffff-ffff-ffff-ffffffffffff')
  order by d.organization_id, d.mode, d.email_id, d.position
  offset $6::int - 1
  limit 1`;

/** 0.1 s, if each is on a page of its own. */
const EXAMINED = 5_000;

/** No row: the rest of the queue. */
export function reachOfAction(action: RunningAction): Statement<QueuePlace> {
  const { atOrganizationId, atMode, atEmailId, atPosition, organizationId } = action;
  const values = [atOrganizationId, atMode, atEmailId, atPosition, organizationId, EXAMINED];
  return { name: 'reach-of-queue-action', text: REACH, values };
}

// The next deliveries that an action is for, with what it does to them.
// Reads and writes: deliveries (primary key, from where the last batch ended to the reach of this one). Locks: the rows in primary-key
// order; a claim under way is waited for. Rows: up to $9.
// retry_now leaves alone what is scheduled for later or put aside; a suspect stays `waiting`, but is due. A delivery that was
// held goes back to where it was: its time to live has gone on.
// Not the ORM: a bounded walk that locks, tells apart and writes in one statement.
const batchOf = (change: string): string => `
  with seen as materialized (
    select d.organization_id, d.mode, d.email_id, d.position, d.domain_id, d.recipient, d.attempt, d.state, d.due_at,
      d.first_due_at
    from deliveries d
    where (d.organization_id, d.mode, d.email_id, d.position) > ($1::uuid, $2::text, $3::uuid, $4::smallint)
      and (d.organization_id, d.mode, d.email_id, d.position) <= ($10::uuid, $11::text, $12::uuid, $13::smallint)
      and ($5::uuid is null or d.organization_id = $5)
      and ($6::text is null or d.destination = $6)
      and ($7::uuid is null or d.email_id = $7)
      and ($8::text[] is null or ${lowerInSql('d.recipient')} = any ($8))
    order by d.organization_id, d.mode, d.email_id, d.position
    limit $9
    for update
  ), changed as (
    ${change}
    returning d.organization_id, d.mode, d.email_id, d.position
  )
  select s.organization_id as "organizationId", s.mode, s.email_id as "emailId", s.position, s.domain_id as "domainId",
    s.recipient, s.attempt, s.state = 'claimed' as "isClaimed", c.position is not null as "isChanged"
  from seen s
  left join changed c using (organization_id, mode, email_id, position)
  order by s.organization_id, s.mode, s.email_id, s.position`;

const SAME =
  'd.organization_id = s.organization_id and d.mode = s.mode and d.email_id = s.email_id and d.position = s.position';

const BATCHES: Readonly<Record<QueueActionKind, string>> = {
  retry_now: batchOf(`update deliveries d set state = ${READY_STATE}, due_at = now()
    from seen s where ${SAME} and s.state = 'waiting' and s.first_due_at <= now()`),
  hold: batchOf(`update deliveries d set state = 'held', held_at = now(), held_reason = $14::text
    from seen s where ${SAME} and s.state in ('waiting', 'ready')`),
  release: batchOf(`update deliveries d set state = case when s.due_at > now() then 'waiting' else ${READY_STATE} end,
      held_at = null, held_reason = null
    from seen s where ${SAME} and s.state = 'held'`),
  fail: batchOf(`delete from deliveries d using seen s where ${SAME} and s.state <> 'claimed'`),
};

/**
 * Applies an operator's action to the next deliveries after its position, and returns those examined, changed or not.
 * @param reach the last that it may look at; undefined: all
 * @param limit how many of its own are examined
 */
export function touchDeliveries(
  action: RunningAction,
  reach: QueuePlace | undefined,
  limit: number,
): Statement<TouchedDelivery> {
  const { atOrganizationId, atMode, atEmailId, atPosition, organizationId, destination, emailId, recipient } = action;
  const last = reach ?? { organizationId: LAST_ID, mode: 'test', emailId: LAST_ID, position: 32_767 };
  const own = action.action === 'hold' ? [action.reason] : [];
  return {
    name: `queue-action-${action.action}`,
    text: BATCHES[action.action],
    values: [
      ...[atOrganizationId, atMode, atEmailId, atPosition],
      ...[organizationId, destination, emailId, recipient && lowerForms(recipient), limit],
      ...[last.organizationId, last.mode, last.emailId, last.position],
      ...own,
    ],
  };
}

// Notes how far an action has come; the recipient that it was for is not kept longer than it takes.
// Writes: queue_actions (primary key). Locks: its row. Rows: one. Not the ORM: sums on the server.
const ADVANCE = `
  update queue_actions
  set at_organization_id = $2, at_mode = $3, at_email_id = $4, at_position = $5,
    matched = matched + $6, changed = changed + $7, claimed = claimed + $8,
    status = case when $9::boolean then 'completed' else status end,
    completed_at = case when $9::boolean then now() end,
    filter_recipient = case when $9::boolean then null else filter_recipient end
  where id = $1`;

export interface ActionProgress {
  readonly organizationId: string;
  readonly mode: Mode | '';
  readonly emailId: string;
  readonly position: number;
  readonly matched: number;
  readonly changed: number;
  readonly claimed: number;
  readonly isCompleted: boolean;
}

/** Stores the position of an action, adds its counts, and marks it as completed after its last batch. */
export function advanceAction(id: string, progress: ActionProgress): Statement<never> {
  const { organizationId, mode, emailId, position, matched, changed, claimed, isCompleted } = progress;
  const values = [id, organizationId, mode, emailId, position, matched, changed, claimed, isCompleted];
  return { name: 'advance-queue-action', text: ADVANCE, values };
}
