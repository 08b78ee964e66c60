import { Client, type ClientConfig } from 'pg';
import { endsWithin } from '../../common/async/promises';
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

/** The driver's client. Where it cannot connect, the error is a `ConnectError`. */
export class DriverClient extends Client {
  constructor(config: ClientConfig) {
    super({ ...TIME_LIMITS, ...config });
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
