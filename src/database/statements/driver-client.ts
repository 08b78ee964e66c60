import type { Socket } from 'node:net';
import { Client, type ClientConfig } from 'pg';
import { endsWithin } from '../../common/async/promises';
import { SharedTurns } from '../../common/async/shared-turns';
import { tlsInTurns } from '../../common/async/socket-turns';
import { ConnectError } from './database-errors';

/** Milliseconds. */
const LEAVE_MS = 1_000;

/** Milliseconds. In place of those of the role or the database; `LIFT_TIME_LIMITS` lifts them. */
const TIME_LIMITS = { statement_timeout: 8_000, lock_timeout: 4_000, idle_in_transaction_session_timeout: 10_000 };

/**
 * Part of the startup message, where a setting takes precedence over those of the role and the database, and which poolers know: the
 * driver reads no other dates. Written as the server reports it, so that a pooler need not set it again.
 */
const SETTINGS = { DateStyle: 'ISO, MDY' };

type Startup = Readonly<Record<string, string>>;
/** Missing in the driver's types. */
const { getStartupConf } = Client.prototype as Client & { getStartupConf: (this: Client) => Startup };

/** Of the driver's connection, missing in its types. */
interface Connection {
  readonly ssl: unknown;
  /** Replaced when TLS begins. */
  readonly stream: Socket;
  once(event: 'sslconnect', listener: () => void): void;
}

/**
 * Rows of all connections together. Node reads up to 2 MB of each in a turn of the event loop, and the driver converts all of it at
 * once: six lists of long texts took 100 ms.
 */
const RECEIVING = new SharedTurns();
let clients = 0;

/** The driver's client, which receives in turns. Where it cannot connect, the error is a `ConnectError`. */
export class DriverClient extends Client {
  constructor(config: ClientConfig) {
    super({ ...TIME_LIMITS, ...config });
    const { connection } = this as unknown as { readonly connection: Connection };
    clients += 1;
    const holder = `connection ${clients}`;
    const receive = () => tlsInTurns(connection.stream, holder, RECEIVING);
    if (connection.ssl) connection.once('sslconnect', receive);
    else receive();
  }

  override connect(): Promise<Client>;
  override connect(done: (error: Error) => void): void;
  override connect(done?: (error: Error) => void): Promise<Client> | void {
    // As the pool calls it; without an error there is no argument.
    if (done) return super.connect((error: Error | null) => done(error ? new ConnectError(error) : (error as never)));
    return super.connect().catch((error: Error) => {
      throw new ConnectError(error);
    });
  }

  /** Ends it, and does not wait for long: one that has silently broken is never closed by the other side, and keeps no process. */
  async leave(): Promise<void> {
    // Missing in the driver's types.
    (this as unknown as { unref(): void }).unref();
    await endsWithin(super.end(), LEAVE_MS);
  }

  /** Called by the driver. */
  protected getStartupConf(): Startup {
    return { ...getStartupConf.call(this), ...SETTINGS };
  }
}
