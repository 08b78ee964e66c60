import type { OnApplicationShutdown } from '@nestjs/common';
import type { Client } from 'pg';
import { type Clock, SECOND } from '../../common/clock';
import { NO_TABLE } from '../../database/statements/database-errors';
import { DriverClient } from '../../database/statements/driver-client';
import { type DatabaseFault, databaseFault, READ_ONLY } from './database-fault';

const TIMEOUT_MS = 2 * SECOND;
/** A session keeps the settings of its beginning, such as `search_path`, when those of its role or database change. */
const RENEW_AFTER_MS = 30 * SECOND;
/**
 * Read-only is a standby too: after a failover the address may still point at the former primary. The look-up of a table takes no
 * lock, so that it does not wait for a migration.
 */
const USABLE = `
  select current_setting('transaction_read_only') = 'on' as "isReadOnly", to_regclass('emails') is not null as "hasTables"`;

interface Usable {
  readonly isReadOnly: boolean;
  /** Statements find the tables: they exist, and the `search_path` leads to their schema. */
  readonly hasTables: boolean;
}

export interface DatabaseHealth {
  readonly healthy: boolean;
  readonly latencyMs: number;
  /** Absent when healthy. */
  readonly error?: DatabaseFault;
}

/**
 * Queries the database, on a connection apart from the pool: a busy pool does not mean a failing database.
 *
 * No connection → opened at the first check and kept; lost, or late with a reply → no connection. A check that finds its kept
 * connection lost opens another, so that a recovered database is not reported as unavailable. Concurrent callers share one
 * check, so that any number of them costs one statement at a time.
 */
export class DatabaseProbe implements OnApplicationShutdown {
  private client: Client | undefined;
  private openedMs = 0;
  private running: Promise<DatabaseHealth> | undefined;

  /** @param needsTables false before the schema is made */
  constructor(
    private readonly url: string,
    private readonly clock: Clock,
    private readonly timeoutMs = TIMEOUT_MS,
    private readonly needsTables = true,
  ) {}

  /** Never rejects; takes little longer than the time limit. */
  check(): Promise<DatabaseHealth> {
    this.running ??= this.run().finally(() => {
      this.running = undefined;
    });
    return this.running;
  }

  onApplicationShutdown(): void {
    if (this.client) this.discard(this.client);
  }

  private async run(): Promise<DatabaseHealth> {
    const startedMs = this.clock.monotonicMs();
    const elapsedMs = (): number => Math.round(this.clock.monotonicMs() - startedMs);
    // Zero would mean "no limit" to the driver.
    const leftMs = (): number => Math.max(1, this.timeoutMs - elapsedMs());
    try {
      await this.query(leftMs);
      return { healthy: true, latencyMs: elapsedMs() };
    } catch (error) {
      return { healthy: false, latencyMs: elapsedMs(), error: databaseFault(error) };
    }
  }

  private async query(leftMs: () => number): Promise<void> {
    await this.renew(leftMs() / 2);
    if (this.client && (await this.isAlive(this.client, leftMs()))) return;
    await this.ping(await this.open(leftMs()), leftMs());
  }

  /**
   * Opens another connection in place of an old one. That stays where this fails: a server that is full, or slow to let anybody in,
   * still serves the connections of the pool.
   */
  private async renew(timeoutMs: number): Promise<void> {
    const kept = this.client;
    if (!kept || this.clock.monotonicMs() - this.openedMs < RENEW_AFTER_MS) return;
    this.openedMs = this.clock.monotonicMs();
    const discardKept = (): void => this.discard(kept);
    await this.open(timeoutMs).then(discardKept, () => undefined);
  }

  /** @returns false when the connection is lost. @throws when the reply is late: another connection would be no faster. */
  private async isAlive(client: Client, timeoutMs: number): Promise<boolean> {
    try {
      await this.ping(client, timeoutMs);
      return true;
    } catch (error) {
      if (databaseFault(error) === 'timeout') throw error;
      return false;
    }
  }

  private async ping(client: Client, timeoutMs: number): Promise<void> {
    try {
      const query = { text: USABLE, query_timeout: timeoutMs };
      const { rows } = await client.query<Usable>(query);
      const [{ isReadOnly = false, hasTables = true } = {}] = rows;
      if (isReadOnly) throw withCode(READ_ONLY);
      if (this.needsTables && !hasTables) throw withCode(NO_TABLE);
    } catch (error) {
      this.discard(client);
      throw error;
    }
  }

  private async open(timeoutMs: number): Promise<Client> {
    const client = new DriverClient({
      connectionString: this.url,
      application_name: 'waybill-health',
      connectionTimeoutMillis: timeoutMs,
      keepAlive: true,
    });
    client.on('error', () => this.discard(client));
    client.on('end', () => this.discard(client));
    try {
      await client.connect();
    } catch (error) {
      this.discard(client);
      throw error;
    }
    this.client = client;
    this.openedMs = this.clock.monotonicMs();
    return client;
  }

  /** Closes a connection without waiting, and without keeping the process alive: a database that hangs does not close its end either. */
  private discard(client: Client): void {
    if (this.client === client) this.client = undefined;
    // `unref` is missing in the driver's types.
    (client as Client & { unref(): void }).unref();
    void client.end().catch(() => undefined);
  }
}

function withCode(code: string): Error {
  return Object.assign(new Error(`the database is not usable: SQLSTATE ${code}`), { code });
}
