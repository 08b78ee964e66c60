import { Inject, Injectable, type OnApplicationShutdown } from '@nestjs/common';
import type { Client } from 'pg';
import { endsWithin } from '../../common/async/promises';
import { SECOND } from '../../common/clock';
import { UnavailableError } from '../../common/errors/app-error';
import { translateDatabaseError } from '../../database/statements/database-errors';
import { Database, DatabaseUrl } from '../../database/pool/database.service';
import { DriverClient } from '../../database/statements/driver-client';
import type { Statement } from '../../database/statements/statement';
import {
  beginSession,
  boundLeases,
  deleteDeadSessions,
  endSession,
  findLeases,
  renewSession,
} from './sql/worker-sessions.sql';

/** A third of a lease lies between two renewals. */
const CONNECT_TIMEOUT_MS = 10 * SECOND;
/** Well within that. */
const QUERY_TIMEOUT_MS = 5 * SECOND;

/**
 * A connection for the worker's lease alone: a busy or blocked pool must not cost the worker its lease.
 *
 * No connection → open at the first statement, and kept; any error → no connection, and the next statement opens another. One that a
 * statement cannot wait for is for the next: opened anew each time, it would never be there in a database that is busy for longer.
 */
@Injectable()
export class LeaseConnection implements OnApplicationShutdown {
  private connecting: Promise<Client> | undefined;
  private closed = false;
  /** How long a statement waits for the connection. */
  protected readonly waitMs: number = 2 * SECOND;

  constructor(private readonly database: DatabaseUrl) {}

  /** @throws UnavailableError */
  async run<Row>({ text, values }: Statement<Row>): Promise<Row[]> {
    if (this.closed) throw new UnavailableError('The lease has ended');
    this.connecting ??= this.begin();
    const connecting = this.connecting;
    if (!(await endsWithin(connecting, this.waitMs))) {
      throw new UnavailableError(`${this.database.directName} takes long to open a connection`);
    }
    try {
      const client = await connecting;
      return (await client.query<Row & object>(text, [...values])).rows;
    } catch (error) {
      this.discard(connecting);
      throw translateDatabaseError(error, this.database.directName);
    }
  }

  onApplicationShutdown(): void {
    this.closed = true;
    if (this.connecting) this.discard(this.connecting);
  }

  /** One that fails is forgotten, whether or not a statement still waits for it. */
  private begin(): Promise<Client> {
    const connecting = this.connect();
    connecting.catch(() => this.discard(connecting));
    return connecting;
  }

  private async connect(): Promise<Client> {
    const client = new DriverClient({
      connectionString: this.database.direct,
      application_name: 'waybill-lease',
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
      query_timeout: QUERY_TIMEOUT_MS,
      keepAlive: true,
    });
    // An idle connection that breaks must not end the process; the next statement fails and opens another.
    client.on('error', () => undefined);
    await client.connect();
    return client;
  }

  /** Not waited for, nor may it keep the process: a database that hangs does not close its end either. */
  private discard(connecting: Promise<Client>): void {
    if (this.connecting === connecting) this.connecting = undefined;
    connecting.then(
      (client) => {
        // Missing in the driver's types.
        (client as Client & { unref(): void }).unref();
        void client.end().catch(() => undefined);
      },
      () => undefined,
    );
  }
}

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

  /** Seconds until the leases of sessions end, negative after it; ended sessions without a row are left out. */
  async findLeases(ids: readonly string[]): Promise<Map<string, number>> {
    const rows = await this.database.run(findLeases(ids));
    return new Map(rows.map(({ id, secondsLeft }) => [id, secondsLeft]));
  }

  /** Ends the sessions that a clock set back has prolonged, and removes those that ended a while ago and hold nothing any more. */
  async deleteDead(): Promise<void> {
    await this.database.run(boundLeases());
    await this.database.run(deleteDeadSessions());
  }
}
