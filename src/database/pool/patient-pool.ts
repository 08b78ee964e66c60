import { Pool, type PoolClient, type PoolConfig } from 'pg';
import { SECOND } from '../../common/clock';

/** As long as a statement may take. */
const OPEN_MS = 10 * SECOND;
/** A limit is counted in so many parts. */
const PARTS = 4;

type Callback = (error: Error | undefined, client: PoolClient | undefined, release: (error?: unknown) => void) => void;

/** Who waits for a connection. Once it has timed out, a connection that was opened for it is for others. */
interface Pending {
  readonly callback: Callback;
  timedOut?: boolean;
}

/** Of the driver's pool, missing in its types. */
interface Internals {
  readonly newClient: (this: Pool, pending: Pending) => void;
  readonly _clients: readonly (PoolClient & { readonly connection: { readonly stream: { destroy(): void } } })[];
  readonly _pendingQueue: Pending[];
}
const { newClient } = Pool.prototype as unknown as Internals;

/**
 * The driver's pool, in which `connectionTimeoutMillis` limits only how long somebody waits: a connection that is being opened meanwhile is
 * for the next one. The driver would give it up. A database that is too busy to open one in that time would do all of that work for
 * nothing, again and again, and no process would get a connection, although each that is open could do much.
 *
 * Nor does time count in which this process stood still: a connection may have been ready all along.
 */
export class PatientPool extends Pool {
  private readonly opened = new WeakSet<PoolClient>();
  private readonly opening = new WeakMap<Callback, Pending>();
  /** A test shortens it. */
  waitMs: number;

  constructor(config?: PoolConfig) {
    super(config);
    this.waitMs = this.options.connectionTimeoutMillis ?? 0;
    this.options.connectionTimeoutMillis = 0;
    this.on('connect', (client) => this.opened.add(client));
  }

  override connect(): Promise<PoolClient>;
  override connect(callback: Callback): void;
  override connect(callback?: Callback): Promise<PoolClient> | void {
    if (callback) return this.wait(callback);
    return new Promise((resolve, reject) => {
      this.wait((error, client) => (error ? reject(error) : resolve(client as PoolClient)));
    });
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
    const { options, waitMs } = this;
    this.opening.set(pending.callback, pending);
    options.connectionTimeoutMillis = waitMs > 0 ? Math.max(waitMs, OPEN_MS) : 0;
    newClient.call(this, pending);
    // The driver has read it.
    options.connectionTimeoutMillis = 0;
  }

  private wait(callback: Callback): void {
    if (this.waitMs === 0) return super.connect(callback);
    const served: Callback = (...result) => {
      cancel();
      callback(...result);
    };
    const cancel = afterRunning(this.waitMs, () => {
      this.forget(served);
      callback(new Error('timeout exceeded when trying to connect'), undefined, () => undefined);
    });
    super.connect(served);
  }

  private forget(callback: Callback): void {
    const { _pendingQueue: queue } = this as unknown as Internals;
    const place = queue.findIndex((pending) => pending.callback === callback);
    const [pending = this.opening.get(callback)] = place < 0 ? [] : queue.splice(place, 1);
    if (pending) pending.timedOut = true;
  }
}

/**
 * Calls back after so much time in which this process ran: in the turn of the event loop after a standstill, timers come before the data that
 * has arrived meanwhile. Returns what cancels it.
 */
function afterRunning(ms: number, work: () => void): () => void {
  let partsLeft = PARTS;
  const next = (): void => {
    partsLeft -= 1;
    if (partsLeft === 0) work();
    else timer = setTimeout(next, ms / PARTS);
  };
  let timer = setTimeout(next, ms / PARTS);
  return () => clearTimeout(timer);
}
