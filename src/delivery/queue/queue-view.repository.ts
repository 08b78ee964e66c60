import { Injectable } from '@nestjs/common';
import { Database } from '../../database/database.service';
import { type LiveWorker, listLiveWorkers } from './sql/worker-sessions.sql';

/** What an operator sees of the engine, of every organization. Nothing of it is hot. */
@Injectable()
export class QueueViewRepository {
  constructor(private readonly database: Database) {}

  /** Live worker processes, oldest first. */
  workers(): Promise<LiveWorker[]> {
    return this.database.run(listLiveWorkers());
  }
}

export type { LiveWorker };
