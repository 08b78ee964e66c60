import { SmtpConnection } from './smtp-connection';
import { assertHeloName } from './smtp-endpoint';
import type { SmtpEndpoint } from './smtp-endpoint';
import type { SmtpEnvelope } from './smtp-envelope';
import type { SmtpFailed, SmtpResult } from './smtp-result';
import type { SmtpTimeouts } from './smtp-timeouts';
import type { SmtpHooks } from './smtp-transaction';
import { ABORTED } from './wire-fault';

export interface SmtpPoolOptions {
  /** This host's name, for EHLO. */
  readonly heloName: string;
  /** Connections at a time, at least 1; those being opened or closed count. */
  readonly maxConnections: number;
  /** Receivers limit it, and a fresh connection lets a load balancer choose again. */
  readonly maxMessagesPerConnection?: number;
  /** How long an unused connection is kept. */
  readonly idleSeconds?: number;
  /** Overrides of `SMTP_TIMEOUTS`, in seconds. */
  readonly timeouts?: Partial<SmtpTimeouts>;
}

/** One message for one recipient. */
export interface SmtpJob {
  readonly envelope: SmtpEnvelope;
  /** Complete bytes with CRLF line ends, not dot-stuffed. */
  readonly message: Buffer;
  readonly hooks: SmtpHooks;
}

interface Entry {
  readonly job: SmtpJob;
  readonly resolve: (result: SmtpResult) => void;
  readonly reject: (error: unknown) => void;
  /** Plaintext after opportunistic TLS failed. */
  readonly endpoint: SmtpEndpoint;
  /** True for the second try after a kept connection proved to be closed. */
  readonly needsFresh: boolean;
}

const DEFAULTS = { maxMessagesPerConnection: 100, idleSeconds: 15 };

/**
 * The connections to one next hop.
 *
 * A job takes the connection that fell idle last (so that spare ones reach their idle limit), else opens one, else waits
 * its turn. A connection goes from job to job until it has carried its number of messages.
 *
 * States: open → (`close`) closing: what waits is still sent, new jobs are turned away, connections say QUIT →
 * closed. `destroy` goes to closed at once from either.
 */
export class SmtpPool {
  private readonly options: Required<Omit<SmtpPoolOptions, 'timeouts'>> & Pick<SmtpPoolOptions, 'timeouts'>;
  private readonly connections = new Set<SmtpConnection>();
  private readonly idle: SmtpConnection[] = [];
  private readonly entries: Entry[] = [];
  private state: 'open' | 'closing' | 'closed' = 'open';
  private unsettled = 0;
  private readonly whenClosed: (() => void)[] = [];

  /** @throws AppError when the EHLO name is not a host name. */
  constructor(
    private readonly endpoint: SmtpEndpoint,
    options: SmtpPoolOptions,
  ) {
    assertHeloName(options.heloName);
    this.options = { ...DEFAULTS, ...options };
  }

  /** Connections of any state: being opened, in use, idle, saying QUIT. */
  get openConnections(): number {
    return this.connections.size;
  }

  get idleConnections(): number {
    return this.idle.length;
  }

  /** Jobs that wait for a connection. */
  get waiting(): number {
    return this.entries.length;
  }

  /**
   * Sends one message. Whatever the network and the remote side do is a result; a closed pool returns `aborted`.
   *
   * @throws AppError (as a rejection) for an unsafe envelope or message, and whatever the hook throws.
   */
  send(job: SmtpJob): Promise<SmtpResult> {
    if (this.state !== 'open') return Promise.resolve(this.turnedAway());
    return new Promise((resolve, reject) => {
      this.unsettled += 1;
      this.entries.push({ job, resolve, reject, endpoint: this.endpoint, needsFresh: false });
      this.dispatch();
    });
  }

  /** Ends every waiting job as `aborted`; what is on a connection goes on. For a destination found to be away. */
  dropWaiting(): number {
    const dropped = this.entries.splice(0);
    for (const entry of dropped) this.settle(entry, this.turnedAway());
    return dropped.length;
  }

  /**
   * Sends what waits, then says QUIT on every connection; resolves when the last is closed. Only the time limits of SMTP
   * bound it; `destroy` cuts it short.
   */
  close(): Promise<void> {
    if (this.state === 'open') this.state = 'closing';
    for (const connection of [...this.idle]) this.retire(connection);
    return new Promise((resolve) => {
      this.whenClosed.push(resolve);
      this.finishClosing();
    });
  }

  /** Closes every connection now; all that is under way or waiting ends as `aborted`. */
  destroy(): void {
    this.state = 'closed';
    this.dropWaiting();
    for (const connection of this.connections) connection.destroy();
    this.finishClosing();
  }

  /** Hands out waiting jobs while there is a connection, or the limit allows one. */
  private dispatch(): void {
    for (let next = this.entries[0]; next !== undefined; next = this.entries[0]) {
      const hasRoom = this.connections.size < this.options.maxConnections;
      const connection = next.needsFresh && hasRoom ? undefined : this.idle.pop();
      if (connection === undefined && !hasRoom) return;
      this.entries.shift();
      void this.run(next, connection);
    }
  }

  private async run(entry: Entry, connection: SmtpConnection | undefined): Promise<void> {
    try {
      const isReused = connection !== undefined;
      const result = await (isReused ? this.sendOn(connection, entry.job) : this.sendOnNew(entry));
      const again = this.state === 'closed' ? undefined : secondTry(entry, result, isReused);
      if (again === undefined) return this.settle(entry, result);
      this.entries.unshift(again);
      this.dispatch();
    } catch (error) {
      entry.reject(error);
      this.countSettled();
    }
  }

  private async sendOnNew({ endpoint, job }: Entry): Promise<SmtpResult> {
    const { heloName, timeouts = {} } = this.options;
    const connection = new SmtpConnection(endpoint, { heloName, timeouts, onClosed: () => this.forget(connection) });
    this.connections.add(connection);
    return (await connection.open()) ?? this.sendOn(connection, job);
  }

  private async sendOn(connection: SmtpConnection, job: SmtpJob): Promise<SmtpResult> {
    try {
      return await connection.send(job.envelope, job.message, job.hooks);
    } finally {
      this.release(connection);
    }
  }

  /** A connection whose job is done: next job, rest, or goodbye. */
  private release(connection: SmtpConnection): void {
    if (!connection.isUsable) return;
    if (connection.messageCount >= this.options.maxMessagesPerConnection) return this.retire(connection);
    const next = this.entries.shift();
    if (next !== undefined) return void this.run(next, connection);
    if (this.state !== 'open') return this.retire(connection);
    this.idle.push(connection);
    connection.park(this.options.idleSeconds, () => this.retire(connection));
  }

  private retire(connection: SmtpConnection): void {
    removeFrom(this.idle, connection);
    void connection.quit();
  }

  private forget(connection: SmtpConnection): void {
    this.connections.delete(connection);
    removeFrom(this.idle, connection);
    this.dispatch();
    this.finishClosing();
  }

  private settle(entry: Entry, result: SmtpResult): void {
    entry.resolve(result);
    this.countSettled();
  }

  private countSettled(): void {
    this.unsettled -= 1;
    this.finishClosing();
  }

  private finishClosing(): void {
    if (this.state === 'open' || this.connections.size > 0 || this.unsettled > 0) return;
    this.state = 'closed';
    for (const resolve of this.whenClosed.splice(0)) resolve();
  }

  private turnedAway(): SmtpFailed {
    const { hostName } = this.endpoint;
    return { kind: 'failed', phase: 'connect', afterFinalDot: false, hostName, tls: false, ...ABORTED };
  }
}

function removeFrom(connections: SmtpConnection[], connection: SmtpConnection): void {
  const position = connections.indexOf(connection);
  if (position !== -1) connections.splice(position, 1);
}

/**
 * The job as it goes to the front of the line again, when its failure allows that: it then waits like any other,
 * so that the limit of connections holds.
 */
function secondTry(entry: Entry, result: SmtpResult, isReused: boolean): Entry | undefined {
  if (result.kind !== 'failed') return undefined;
  // Opportunistic TLS (RFC 7435): broken encryption is worth no more than none, but no less either.
  if (result.mayRetryInPlaintext) {
    return { ...entry, needsFresh: true, endpoint: { ...entry.endpoint, security: 'none' } };
  }
  // Others that were idle may be as dead, hence a fresh one.
  return isReused && !entry.needsFresh && isStale(result) ? { ...entry, needsFresh: true } : undefined;
}

/**
 * True when a connection kept open had been closed by the server before it saw any of the message. Servers do that to
 * idle connections, and the notice can cross the next MAIL on its way; no reply came and no final dot went out, so the
 * message can be sent again.
 */
function isStale(result: SmtpResult): boolean {
  if (result.kind !== 'failed' || result.phase !== 'mail') return false;
  return result.cause === 'closed' || result.cause === 'reset';
}
