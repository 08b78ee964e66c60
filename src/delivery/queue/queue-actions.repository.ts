import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { LessThan, type Repository } from 'typeorm';
import type { Transaction } from '../../database/transaction';
import { QueueAction } from './queue.entity';
import {
  type ActionProgress,
  advanceAction,
  type RunningAction,
  takeAction,
  touchDeliveries,
  type TouchedDelivery,
} from './sql/queue-actions.sql';

@Injectable()
export class QueueActionsRepository {
  constructor(@InjectRepository(QueueAction) private readonly actions: Repository<QueueAction>) {}

  async insert(action: QueueAction, tx: Transaction): Promise<void> {
    await tx.manager.insert(QueueAction, action);
  }

  find(id: string): Promise<QueueAction | null> {
    return this.actions.findOneBy({ id });
  }

  /** An action that is not completed, locked, the oldest first; undefined when others work on all of them. */
  async take(id: string | undefined, tx: Transaction): Promise<RunningAction | undefined> {
    const [action] = await tx.run(takeAction(id));
    return action;
  }

  /** Does it to the next deliveries that it is for, and returns those, changed or not. */
  touch(action: RunningAction, limit: number, tx: Transaction): Promise<TouchedDelivery[]> {
    return tx.run(touchDeliveries(action, limit));
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

export type { RunningAction, TouchedDelivery };
