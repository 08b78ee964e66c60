import { Pool, type PoolClient, type PoolConfig } from 'pg';
import { SECOND } from '../../common/clock';

/** As long as a statement may take. */
const OPEN_MS = 10 * SECOND;

/** Who waits for a connection. Once it has timed out, a connection that was opened for it is for others. */
interface Pending {
  callback: (error: Error | undefined, client?: PoolClient, release?: (error?: Error | boolean) => void) => void;
  timedOut: boolean;
}

/** Of the driver's pool, missing in its types. */
interface Internals {
  readonly newClient: (this: Pool, pending: Pending) => void;
  readonly _clients: readonly (PoolClient & { readonly connection: { readonly stream: { destroy(): void } } })[];
}
const { newClient } = Pool.prototype as unknown as Internals;

/**
 * The driver's pool, in which `connectionTimeoutMillis` limits only how long somebody waits: a connection that is being opened meanwhile is
 * for the next one. The driver would give it up. A database that is too busy to open one in that time would do all of that work for
 * nothing, again and again, and no process would get a connection, although each that is open could do much.
 */
export class PatientPool extends Pool {
  private readonly opened = new WeakSet<PoolClient>();

  constructor(config?: PoolConfig) {
    super(config);
    this.on('connect', (client) => this.opened.add(client));
  }

  /** What is still being opened is of no use any more. */
  override end(): Promise<void>;
  override end(done: () => void): void;
  override end(done?: () => void): Promise<void> | void {
    const { _clients } = this as unknown as Internals;
    for (const client of _clients) if (!this.opened.has(client)) client.connection.stream.destroy();
    return done ? super.end(done) : super.end();
  }

  /** Called by the driver. */
  protected newClient(pending: Pending): void {
    const { options } = this;
    const { connectionTimeoutMillis: waitMs = 0 } = options;
    if (waitMs > 0) {
      limitWaiting(pending, waitMs);
      options.connectionTimeoutMillis = Math.max(waitMs, OPEN_MS);
    }
    newClient.call(this, pending);
    // The driver has read it.
    options.connectionTimeoutMillis = waitMs;
  }
}

/** One that has waited in the pool's queue has a limit already, which ends before. */
function limitWaiting(pending: Pending, waitMs: number): void {
  const { callback } = pending;
  const timer = setTimeout(() => {
    if (pending.timedOut) return;
    pending.timedOut = true;
    callback(new Error('timeout exceeded when trying to connect'));
  }, waitMs);
  pending.callback = (...result) => {
    clearTimeout(timer);
    callback(...result);
  };
}
