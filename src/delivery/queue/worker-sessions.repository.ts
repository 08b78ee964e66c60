import { Injectable } from '@nestjs/common';
import { Database } from '../../database/database.service';
import { beginSession, deleteDeadSessions, endSession, renewSession } from './sql/worker-sessions.sql';

@Injectable()
export class WorkerSessionsRepository {
  constructor(private readonly database: Database) {}

  async begin(id: string, host: string, processId: number, leaseSeconds: number): Promise<void> {
    await this.database.run(beginSession(id, host, processId, leaseSeconds));
  }

  /** False: the lease has ended. */
  async renew(id: string, leaseSeconds: number): Promise<boolean> {
    return (await this.database.run(renewSession(id, leaseSeconds))).length > 0;
  }

  async end(id: string): Promise<void> {
    await this.database.run(endSession(id));
  }

  /** Removes sessions that ended a while ago and hold nothing any more. */
  async deleteDead(): Promise<void> {
    await this.database.run(deleteDeadSessions());
  }
}
