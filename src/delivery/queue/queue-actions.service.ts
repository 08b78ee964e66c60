import { Injectable, Logger } from '@nestjs/common';
import { Clock } from '../../common/clock';
import { NotFoundError, UnavailableError } from '../../common/errors/app-error';
import { isUuid, newId, NIL_ID } from '../../common/ids';
import { Database } from '../../database/pool/database.service';
import type { Transaction } from '../../database/statements/transaction';
import type { OutcomeSink, RecordedOutcome } from '../ports/outcome';
import type { QueueAction } from './queue.entity';
import { QueueActionsRepository, type RunningAction } from './delivery-queue.repository';
import type { TouchedDelivery } from './sql/queue-actions.sql';
import { type NewQueueAction, readFilter } from './queue-filter';
import { CALL_TO_ALL } from './work-call';
import { WorkerWaker } from './worker-waker.service';

export type { NewQueueAction };

interface Work {
  /** The id of an action; undefined: all. */
  readonly only: string | undefined;
  readonly outcomes: OutcomeSink;
  /** Actions that are left out, with their errors. */
  readonly failed: Map<string, unknown>;
  /** Deliveries in the next batch: half as many after one that is refused, as one of its deliveries cannot be recorded. */
  limit: number;
  /** How many deliveries from there on cannot be recorded. */
  refused: { readonly at: string; readonly count: number; readonly error?: unknown };
  /** Others can. */
  hasRecorded?: true;
}

/** One transaction each: long enough to be worth it, short enough that nothing waits for it. */
const BATCH = 500;
/** In a row: the recipients of an email, whose row may be damaged. */
const MAX_REFUSED = 50;

/**
 * What operators do with open deliveries. An action is stored and processed in batches, each committed with its progress: a
 * crash leaves nothing undone or done twice, and several processes may share the work.
 *
 *   running ──batch──► running ──a batch reaches the end of the queue──► completed
 */
@Injectable()
export class QueueActionsService {
  private readonly logger = new Logger(QueueActionsService.name);

  constructor(
    private readonly actions: QueueActionsRepository,
    private readonly database: Database,
    private readonly waker: WorkerWaker,
    private readonly clock: Clock,
  ) {}

  /** An SQL condition: whether `workOff` would find an action. */
  get hasWork(): string {
    return this.actions.hasRunning;
  }

  /** @throws ValidationError for a filter that is empty or names no domain or address */
  async create({ filter, ...wanted }: NewQueueAction, also: (id: string, tx: Transaction) => Promise<void>) {
    const given = readFilter(filter);
    const start = {
      atOrganizationId: given.organizationId ?? NIL_ID,
      atMode: '',
      atEmailId: NIL_ID,
      atPosition: -1,
    } as const;
    const counts = { matched: 0, changed: 0, claimed: 0 };
    const times = { createdAt: this.clock.now(), completedAt: null };
    const action: QueueAction = { id: newId(), ...wanted, ...given, ...start, ...counts, ...times, status: 'running' };
    await this.database.transaction(async (tx) => {
      await this.actions.insert(action, tx);
      await also(action.id, tx);
    });
    return action;
  }

  /** @throws NotFoundError */
  async get(id: string): Promise<QueueAction> {
    const action = isUuid(id) ? await this.actions.find(id) : null;
    if (!action) throw new NotFoundError('Queue action');
    return action;
  }

  /**
   * Works off the actions that no other process works on, batch by batch. One that fails is left out until the next call.
   * @param outcomes where deliveries that are ended go
   * @param only one action by its id
   * @throws the first error, when all others are worked off; UnavailableError at once
   */
  async workOff(outcomes: OutcomeSink, { only, signal }: { only?: string; signal?: AbortSignal } = {}): Promise<void> {
    const work: Work = { only, outcomes, failed: new Map(), limit: BATCH, refused: { at: '', count: 0 } };
    for (let isMore = true; isMore && signal?.aborted !== true;) {
      isMore = await this.workOffBatch(work);
      if (isMore) this.waker.wake(CALL_TO_ALL);
    }
    const [error] = work.failed.values();
    if (work.failed.size > 0) throw error;
  }

  /** Returns the number of removed ones. */
  removeCompletedBefore(before: Date): Promise<number> {
    return this.actions.deleteCompletedBefore(before);
  }

  /** False when there was no action to take. */
  private async workOffBatch(work: Work): Promise<boolean> {
    let taken: RunningAction | undefined;
    try {
      await this.database.transaction(async (tx) => {
        taken = await this.actions.take(work.only, [...work.failed.keys()], tx);
        if (taken) await this.advance(taken, work, tx);
      });
      work.limit = Math.min(BATCH, 2 * work.limit);
    } catch (error) {
      if (!taken || error instanceof UnavailableError) throw error;
      this.narrow(taken, work, error);
    }
    return taken !== undefined;
  }

  /** A delivery that cannot be recorded must not hold up others: it is found by halves, and put aside with the batch behind it. */
  private narrow(action: RunningAction, work: Work, error: unknown): void {
    const at = placeOf(action);
    const count = work.refused.at === at ? work.refused.count + 1 : 1;
    if (work.limit > 1) {
      work.limit = Math.ceil(work.limit / 2);
    } else if (action.action === 'fail' && count <= MAX_REFUSED) {
      work.refused = { at, count, error };
      if (count === 1) this.logger.error({ msg: 'The end of a delivery cannot be stored', action: action.id, error });
    } else {
      work.failed.set(action.id, error);
      work.limit = BATCH;
    }
  }

  private async advance(action: RunningAction, work: Work, tx: Transaction): Promise<void> {
    const { at, count, error } = work.refused;
    const aside = at === placeOf(action) ? (await this.actions.touch(puttingAside(action), count, tx)).deliveries : [];
    const { deliveries: touched, end } = await this.actions.touch(from(action, aside.at(-1)), work.limit, tx);
    // When none at all can be recorded, the cause is another one, and the action waits until it is mended.
    if (aside.length > 1 && touched.length === 0 && !work.hasRecorded) throw error;
    const changed = touched.filter(({ isChanged }) => isChanged);
    if (action.action === 'fail' && changed.length > 0) {
      await work.outcomes.record(this.failuresOf(changed), tx);
      work.hasRecorded = true;
    }
    const seen = [...aside, ...touched];
    const claimed = seen.filter(({ isClaimed }) => isClaimed).length;
    const counts = { matched: seen.length, changed: changed.length, claimed, isCompleted: end === undefined };
    await this.actions.advance(action.id, { ...(end ?? startOf(action)), ...counts }, tx);
  }

  private failuresOf(deliveries: readonly TouchedDelivery[]): RecordedOutcome[] {
    const occurredAt = this.clock.now();
    return deliveries.map(({ organizationId, mode, emailId, position, domainId, recipient, attempt }) => {
      const key = { organizationId, mode, emailId, position };
      const outcome = { kind: 'failed', reason: 'operator' } as const;
      return { ...key, domainId, recipient, outcome, source: 'system', occurredAt, ...(attempt > 0 && { attempt }) };
    });
  }
}

function startOf({ atOrganizationId, atMode, atEmailId, atPosition }: RunningAction) {
  return { organizationId: atOrganizationId, mode: atMode, emailId: atEmailId, position: atPosition };
}

/** The same action, behind a delivery. */
function from(action: RunningAction, delivery: TouchedDelivery | undefined): RunningAction {
  if (!delivery) return action;
  const { organizationId: atOrganizationId, mode: atMode, emailId: atEmailId, position: atPosition } = delivery;
  return { ...action, atOrganizationId, atMode, atEmailId, atPosition };
}

function placeOf(action: RunningAction): string {
  return [action.id, ...Object.values(startOf(action))].join(' ');
}

function puttingAside(action: RunningAction): RunningAction {
  return { ...action, action: 'hold', reason: `${action.reason}; it was to end, which could not be stored` };
}
