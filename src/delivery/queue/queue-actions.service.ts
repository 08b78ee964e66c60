import { Injectable } from '@nestjs/common';
import { Clock } from '../../common/clock';
import { NotFoundError, UnavailableError, ValidationError } from '../../common/errors/app-error';
import { isUuid, newId, NIL_ID } from '../../common/ids';
import { parseAddress } from '../../common/mail-address';
import { parseDomain } from '../../common/mail-domain';
import { Database } from '../../database/database.service';
import type { Transaction } from '../../database/transaction';
import type { OutcomeSink, RecordedOutcome } from '../ports/outcome';
import type { QueueAction, QueueActionKind } from './queue.entity';
import { QueueActionsRepository, type RunningAction, type TouchedDelivery } from './delivery-queue.repository';
import { CALL_TO_ALL } from './work-call';
import { WorkerWaker } from './worker-waker.service';

/** Which deliveries an action is for: those to which all that is given applies. */
export interface QueueFilter {
  readonly organizationId?: string | undefined;
  /** A recipient's domain. */
  readonly destination?: string | undefined;
  readonly emailId?: string | undefined;
  readonly recipient?: string | undefined;
}

export interface NewQueueAction {
  readonly action: QueueActionKind;
  readonly filter: QueueFilter;
  /** The operator's own words. */
  readonly reason: string;
  readonly actor: string;
}

interface Work {
  /** The id of an action; undefined: all. */
  readonly only: string | undefined;
  readonly outcomes: OutcomeSink;
  /** Actions that are left out, with their errors. */
  readonly failed: Map<string, unknown>;
}

/** One transaction each: long enough to be worth it, short enough that nothing waits for it. */
const BATCH = 500;

/**
 * What operators do with open deliveries. An action is stored and processed in batches, each committed with its progress: a
 * crash leaves nothing undone or done twice, and several processes may share the work.
 *
 *   running ──batch──► running ──a batch finds fewer than it may──► completed
 */
@Injectable()
export class QueueActionsService {
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
    const failed = new Map<string, unknown>();
    for (let isMore = true; isMore && signal?.aborted !== true;) {
      isMore = await this.workOffBatch({ only, outcomes, failed });
      if (isMore) this.waker.wake(CALL_TO_ALL);
    }
    const [error] = failed.values();
    if (failed.size > 0) throw error;
  }

  /** Returns the number of removed actions. */
  removeCompletedBefore(before: Date): Promise<number> {
    return this.actions.deleteCompletedBefore(before);
  }

  /** False when there was no action to take. @param work gets what has failed */
  private async workOffBatch({ only, outcomes, failed }: Work): Promise<boolean> {
    let taken: RunningAction | undefined;
    try {
      await this.database.transaction(async (tx) => {
        taken = await this.actions.take(only, [...failed.keys()], tx);
        if (taken) await this.advance(taken, outcomes, tx);
      });
    } catch (error) {
      if (!taken || error instanceof UnavailableError) throw error;
      failed.set(taken.id, error);
    }
    return taken !== undefined;
  }

  private async advance(action: RunningAction, outcomes: OutcomeSink, tx: Transaction): Promise<void> {
    const touched = await this.actions.touch(action, BATCH, tx);
    const changed = touched.filter(({ isChanged }) => isChanged);
    if (action.action === 'fail' && changed.length > 0) await outcomes.record(this.failuresOf(changed), tx);
    const counts = {
      matched: touched.length,
      changed: changed.length,
      claimed: touched.filter(({ isClaimed }) => isClaimed).length,
      isCompleted: touched.length < BATCH,
    };
    await this.actions.advance(action.id, { ...(touched.at(-1) ?? startOf(action)), ...counts }, tx);
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

/** As the queue writes them. @throws ValidationError */
function readFilter({ organizationId, destination, emailId, recipient }: QueueFilter) {
  const wanted = [organizationId, destination, emailId, recipient].filter((value) => value !== undefined);
  if (wanted.length === 0) throw new ValidationError({ filter: ['filter must name at least one thing'] });
  return {
    organizationId: organizationId?.toLowerCase() ?? null,
    destination: destination === undefined ? null : readDestination(destination),
    emailId: emailId?.toLowerCase() ?? null,
    recipient: recipient === undefined ? null : readRecipient(recipient),
  };
}

/** The domain in A-labels. @throws ValidationError */
function readDestination(text: string): string {
  const parsed = parseDomain(text);
  if (!parsed.ok) throw new ValidationError({ 'filter.destination': ['filter.destination must be a domain'] });
  return parsed.domain;
}

/** The envelope address, its domain in A-labels. @throws ValidationError */
function readRecipient(text: string): string {
  const parsed = parseAddress(text);
  if (!parsed.ok) throw new ValidationError({ 'filter.recipient': ['filter.recipient must be an address'] });
  return parsed.email;
}
