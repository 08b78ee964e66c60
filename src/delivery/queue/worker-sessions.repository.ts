import { Inject, Injectable } from '@nestjs/common';
import { Database } from '../../database/database.service';
import { LeaseConnection } from './lease-connection';
import { beginSession, deleteDeadSessions, endSession, findLeases, renewSession } from './sql/worker-sessions.sql';

/** The life of worker sessions. What a lease hangs on goes over a connection of its own. */
@Injectable()
export class WorkerSessionsRepository {
  constructor(
    private readonly database: Database,
    @Inject(LeaseConnection) private readonly lease: Pick<LeaseConnection, 'run'>,
  ) {}

  /** Returns for how many seconds the workers together have watched the database. */
  async begin(id: string, host: string, processId: number, leaseSeconds: number): Promise<number> {
    const [watch] = await this.lease.run(beginSession(id, host, processId, leaseSeconds));
    return watch?.watchedSeconds ?? 0;
  }

  /** As `begin`. Undefined: the lease has ended. */
  async renew(id: string, leaseSeconds: number): Promise<number | undefined> {
    const [watch] = await this.lease.run(renewSession(id, leaseSeconds));
    return watch?.watchedSeconds;
  }

  /** Gives back whatever the session still holds, free of charge, and ends its lease. */
  async end(id: string): Promise<void> {
    await this.lease.run(endSession(id));
  }

  /** Seconds until the leases of sessions end, negative once they have; a session that is gone is left out. */
  async findLeases(ids: readonly string[]): Promise<Map<string, number>> {
    const rows = await this.database.run(findLeases(ids));
    return new Map(rows.map(({ id, secondsLeft }) => [id, secondsLeft]));
  }

  /** Removes sessions that ended a while ago and hold nothing any more. */
  async deleteDead(): Promise<void> {
    await this.database.run(deleteDeadSessions());
  }
}
