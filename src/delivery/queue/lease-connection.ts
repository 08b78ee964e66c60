import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { Client } from 'pg';
import { SECOND } from '../../common/clock';
import { UnavailableError } from '../../common/errors/app-error';
import { translateDatabaseError } from '../../database/database-errors';
import { DatabaseUrl } from '../../database/database.service';
import type { Statement } from '../../database/statement';

const CONNECT_TIMEOUT_MS = 2 * SECOND;
/** Well within the third of a lease that lies between two renewals. */
const QUERY_TIMEOUT_MS = 5 * SECOND;

/**
 * A connection for the worker's lease alone: a pool that is busy, or stuck, must not cost the worker its lease.
 *
 * No connection → open at the first statement, and kept; any error → no connection, and the next statement opens another.
 */
@Injectable()
export class LeaseConnection implements OnApplicationShutdown {
  private connecting: Promise<Client> | undefined;
  private closed = false;

  constructor(private readonly database: DatabaseUrl) {}

  /** @throws UnavailableError */
  async run<Row>({ text, values }: Statement<Row>): Promise<Row[]> {
    if (this.closed) throw new UnavailableError('The lease has ended');
    this.connecting ??= this.connect();
    const connecting = this.connecting;
    try {
      const client = await connecting;
      return (await client.query<Row & object>(text, [...values])).rows;
    } catch (error) {
      this.discard(connecting);
      throw translateDatabaseError(error);
    }
  }

  onApplicationShutdown(): void {
    this.closed = true;
    if (this.connecting) this.discard(this.connecting);
  }

  private async connect(): Promise<Client> {
    const client = new Client({
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
