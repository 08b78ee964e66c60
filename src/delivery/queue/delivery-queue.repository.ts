import { Injectable } from '@nestjs/common';
import { Database } from '../../database/pool/database.service';
import type { Transaction } from '../../database/statements/transaction';
import type { ClaimedDelivery, DeliveryKey, EmailKey } from '../ports/delivery';
import {
  countOpen,
  enqueueDeliveries,
  findOpenDeliveries,
  hasOpenBetween,
  type NewDelivery,
  type OpenCount,
  type OpenDelivery,
  type OpenRange,
} from './sql/open-deliveries.sql';
import {
  putAsideDelivery,
  releaseDeliveries,
  type SettledDelivery,
  type UnstoredDelivery,
  settleDeliveries,
  rescheduleDeliveries,
  withdrawDeliveries,
  type WithdrawnDelivery,
  withdrawRecipients,
} from './sql/settle-deliveries.sql';
import {
  findHeldClaims,
  type FreedDelivery,
  notifyWorkers,
  reapSessions,
  type LiveWorker,
  listLiveWorkers,
} from './sql/worker-sessions.sql';
import { type ClaimInput, claimDeliveries } from './sql/claim-deliveries.sql';
import {
  findReadyDestinations,
  type ReadyDestination,
  type ReadyFilter,
  type Window,
} from './sql/ready-destinations.sql';
import {
  claimOverdue,
  findReadyTenants,
  HAS_DUE,
  promoteDue,
  type ReadyTenant,
  type TenantWalk,
} from './sql/due-deliveries.sql';
import {
  countQueueBy,
  lastMeasure,
  measureBloat,
  measureQueue,
  QUEUE_GROUPS,
  type QueueBloat,
  type QueueGroup,
  type QueueMeasure,
  type QueueShare,
} from './sql/view-queue.sql';
import {
  type DeliveryCursor,
  type DeliveryFilter,
  listAmong,
  listDeliveries,
  type ListedDelivery,
} from './sql/list-queue.sql';
import { claimSuspects, hasSuspect } from './sql/suspect-deliveries.sql';
import { formatCall, type WorkCall } from './work-call';
import { InjectRepository } from '@nestjs/typeorm';
import { LessThan, type Repository } from 'typeorm';
import { QueueAction } from './queue.entity';
import {
  type ActionProgress,
  advanceAction,
  type RunningAction,
  HAS_ACTION,
  reachOfAction,
  takeAction,
  touchDeliveries,
  type TouchedBatch,
} from './sql/queue-actions.sql';

/**
 * The hot queue: open deliveries only. A row's state:
 *
 *   waiting ──due──► ready ──claim──► claimed ──settle──► gone (terminal) or waiting (deferred)
 *                      ▲                 └──release, or the session's lease ends──► ready
 *
 * A suspect (see `SUSPECT_CRASHES`) goes from waiting to claimed, a few at a time or alone.
 *
 * Statements that change it run in the caller's transaction, together with their effects on the email.
 */
@Injectable()
export class DeliveryQueueRepository {
  /** An SQL condition: whether `promoteDue` would find any. */
  readonly hasDue = HAS_DUE;

  constructor(private readonly database: Database) {}

  enqueue(rows: readonly NewDelivery[], now: Date, tx: Transaction): void {
    tx.write(enqueueDeliveries(rows, now));
  }

  async promoteDue(now: Date, limit: number): Promise<number> {
    const [row] = await this.database.run(promoteDue(now, limit));
    return row?.promoted ?? 0;
  }

  /** Organizations with ready work, in the order of a walk round all of them. */
  findReadyTenants(walk: TenantWalk): Promise<ReadyTenant[]> {
    return this.database.run(findReadyTenants(walk));
  }

  /** Destinations with ready work of some organizations. */
  findReadyDestinations(windows: readonly Window[], filter: ReadyFilter): Promise<ReadyDestination[]> {
    return this.database.run(findReadyDestinations(windows, filter));
  }

  claim(input: ClaimInput): Promise<ClaimedDelivery[]> {
    return this.database.run(claimDeliveries(input));
  }

  /** The indexes of the results that were taken; the others carried an outdated token. */
  async settle(results: readonly SettledDelivery[], now: Date, tx: Transaction): Promise<number[]> {
    return (await tx.run(settleDeliveries(results, now))).map((row) => row.index);
  }

  /** Holds a delivery whose result cannot be stored. */
  async putAside(unstored: UnstoredDelivery): Promise<void> {
    await this.database.run(putAsideDelivery(unstored));
  }

  async release(claims: readonly ClaimedDelivery[]): Promise<void> {
    await this.database.run(releaseDeliveries(claims));
  }

  /** What a session holds since before a moment, according to the database. */
  findHeld(sessionId: string, claimedBefore: Date): Promise<ClaimedDelivery[]> {
    return this.database.run(findHeldClaims(sessionId, claimedBefore));
  }

  /** Frees the claims of ended sessions. */
  reap(limit: number, tx: Transaction): Promise<FreedDelivery[]> {
    return tx.run(reapSessions(limit));
  }

  /** Claims deliveries whose life is over, so that they can be ended. */
  async claimOverdue(sessionId: string, now: Date, limit: number, bornBefore: Date): Promise<ClaimedDelivery[]> {
    const rows = await this.database.run(claimOverdue(sessionId, now, limit, bornBefore));
    return rows.map(({ stateBefore: state, heldAt, heldReason, ...claim }) => ({
      ...claim,
      overdue: { state, heldAt, heldReason },
    }));
  }

  /** Claims deliveries that are suspected of killing their workers, unless another worker tries some at this moment. */
  claimSuspects(sessionId: string, blocked: readonly string[]): Promise<ClaimedDelivery[]> {
    return this.database.run(claimSuspects(sessionId, blocked));
  }

  /** As `claimSuspects`, without the claim. */
  async hasSuspect(sessionId: string, blocked: readonly string[]): Promise<boolean> {
    const [row] = await this.database.run(hasSuspect(sessionId, blocked));
    return row?.hasSuspect ?? false;
  }

  /** Positions taken out of the queue; those already claimed or attempted stay. */
  async withdraw(email: EmailKey, tx: Transaction): Promise<number[]> {
    return (await tx.run(withdrawDeliveries(email))).map((row) => row.position);
  }

  /** Positions whose first attempt is moved; those already claimed or attempted stay. @param keepsExpiry it expires when the request says */
  async reschedule(email: EmailKey, dueAt: Date, keepsExpiry: boolean, tx: Transaction): Promise<number[]> {
    return (await tx.run(rescheduleDeliveries(email, dueAt, keepsExpiry))).map((row) => row.position);
  }

  /** Takes recipients out of the queue, also between two attempts; returns those that were open, claimed ones untouched. */
  withdrawRecipients(keys: readonly DeliveryKey[], tx: Transaction): Promise<WithdrawnDelivery[]> {
    return tx.run(withdrawRecipients(keys));
  }

  findOpen(email: EmailKey): Promise<OpenDelivery[]> {
    return this.database.run(findOpenDeliveries(email));
  }

  /** How far the open recipients of a span of emails are; only the newest `limit` of the span are read. */
  async countOpen(range: OpenRange, limit: number, now: Date): Promise<OpenCount> {
    const [row] = await this.database.run(countOpen(range, limit, now));
    return row ?? { queued: 0, sending: 0 };
  }

  /** Whether any organization's emails with these ids (from inclusive, to exclusive) are still to be delivered. */
  async hasOpenBetween(fromId: string, toId: string): Promise<boolean> {
    const [row] = await this.database.run(hasOpenBetween(fromId, toId));
    return row?.isOpen ?? false;
  }

  /** For operators: running worker processes, oldest first. */
  listWorkers(): Promise<LiveWorker[]> {
    return this.database.run(listLiveWorkers());
  }

  /** For operators: the largest shares of the queue first. */
  countBy(group: QueueGroup, limit: number): Promise<QueueShare[]> {
    return this.database.run(countQueueBy(group, limit));
  }

  /** For operators: in the order of their keys. @param after the last of the page before */
  async list(filter: DeliveryFilter, after: DeliveryCursor, limit: number): Promise<ListedDelivery[]> {
    const [first, whole] = listDeliveries(filter, after, limit);
    const page = await this.database.run(first);
    return !whole || page.length === limit ? page : this.database.run(whole);
  }

  /** The same among some keys. */
  listAmong(keys: readonly DeliveryKey[], filter: DeliveryFilter, after: DeliveryCursor, limit: number) {
    return this.database.run(listAmong(keys, filter, after, limit));
  }

  /** The last count of the whole queue, by any process. */
  async lastMeasure(): Promise<(QueueMeasure & { isDue: boolean }) | undefined> {
    const [last] = await this.database.run(lastMeasure());
    return last;
  }

  /** Counts the whole queue and keeps the result for all processes. See `measureQueue`. */
  async measure(limit: number, heldBack: readonly string[]): Promise<QueueMeasure | undefined> {
    const [measure] = await this.database.run(measureQueue(limit, heldBack));
    return measure;
  }

  async bloat(): Promise<QueueBloat> {
    const [row] = await this.database.run(measureBloat());
    return row ?? { deadRows: 0, bytes: 0 };
  }

  /** Wakes the workers of every process; a hint only, they check for work by themselves too. */
  async notify(call: Omit<WorkCall, 'turn'>): Promise<void> {
    await this.database.run(notifyWorkers(formatCall(call, Math.random())));
  }
}

export type {
  DeliveryCursor,
  DeliveryFilter,
  ListedDelivery,
  LiveWorker,
  OpenDelivery,
  QueueBloat,
  QueueGroup,
  QueueMeasure,
  QueueShare,
};
export { QUEUE_GROUPS };

/** Queue actions of operators, and the deliveries that each of them concerns. */
@Injectable()
export class QueueActionsRepository {
  /** An SQL condition: whether any is not completed. */
  readonly hasRunning = HAS_ACTION;

  constructor(@InjectRepository(QueueAction) private readonly actions: Repository<QueueAction>) {}

  async insert(action: QueueAction, tx: Transaction): Promise<void> {
    await tx.manager.insert(QueueAction, action);
  }

  find(id: string): Promise<QueueAction | null> {
    return this.actions.findOneBy({ id });
  }

  /** An action that is not completed, locked, the oldest first; undefined when others work on all of them. */
  async take(id: string | undefined, except: readonly string[], tx: Transaction): Promise<RunningAction | undefined> {
    const [action] = await tx.run(takeAction(id, except));
    return action;
  }

  /** Does it to the next deliveries that it is for. An email is looked up; else so many deliveries are examined at most. */
  async touch(action: RunningAction, limit: number, tx: Transaction): Promise<TouchedBatch> {
    const [reach] = action.emailId === null ? await tx.run(reachOfAction(action)) : [];
    const deliveries = await tx.run(touchDeliveries(action, reach, limit));
    return { deliveries, end: deliveries.length === limit ? deliveries.at(-1) : reach };
  }

  async advance(id: string, progress: ActionProgress, tx: Transaction): Promise<void> {
    await tx.run(advanceAction(id, progress));
  }

  /** Returns the number of removed actions. */
  async deleteCompletedBefore(before: Date): Promise<number> {
    const { affected } = await this.actions.delete({ status: 'completed', completedAt: LessThan(before) });
    return affected ?? 0;
  }
}

export type { RunningAction };
