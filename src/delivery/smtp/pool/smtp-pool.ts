import { SECOND, SystemClock } from '../../../common/clock';
import { SmtpConnection } from '../conversation/smtp-connection';
import { MessageCap, SilentTls, type TlsSessions } from '../conversation/host-memory';
import { givesUpTls, limitsOf, secondTry } from './second-try';
import { assertHeloName, type SmtpEndpoint } from '../conversation/smtp-endpoint';
import { type Entry, isFor, secondsOf, type SmtpJob } from './smtp-job';
import { type SmtpFailed, type SmtpResult, ABORTED } from '../conversation/smtp-result';
import { SMTP_TIMEOUTS, type SmtpTimeouts } from '../conversation/smtp-timeouts';

export interface SmtpPoolOptions {
  /** This host's name, for EHLO. */
  readonly heloName: string;
  /** Connections at a time, at least 1; those being opened or closed count. */
  readonly maxConnections: number;
  /** Receivers limit it, and a fresh connection lets a load balancer choose again. */
  readonly maxMessagesPerConnection?: number;
  /** Shared by the pools of one host. */
  readonly cap?: MessageCap;
  /** Shared by all. */
  readonly tlsSessions?: TlsSessions;
  /** Shared by all. */
  readonly silentTls?: SilentTls;
  /** How long an unused connection is kept. */
  readonly idleSeconds?: number;
  /** Overrides of `SMTP_TIMEOUTS`, in seconds. */
  readonly timeouts?: Partial<SmtpTimeouts>;
}

const clock = new SystemClock();
/** After a rest of this length a 421 is about idleness, not about a host's limit. */
const RESTED_MS = SECOND;
const DEFAULTS = { maxMessagesPerConnection: 100, idleSeconds: 15 };

/**
 * The connections to one next hop.
 *
 * A job takes the connection that fell idle last (so that spare ones reach their idle limit), else opens one, else waits
 * its turn. One that is leaving a refused transaction is waited for, so that refusals open no more connections. A connection goes
 * from job to job until it has carried its number of messages: ours, or the host's, which a 421
 * on a connection that has carried mail tells. That job goes again over a fresh one, once.
 *
 * States: open → (`close`) closing: what waits is still sent, new jobs are turned away, connections say QUIT →
 * closed. `destroy` goes to closed at once from either.
 */
export class SmtpPool {
  private readonly options: Required<Omit<SmtpPoolOptions, 'timeouts' | 'tlsSessions'>> &
    Pick<SmtpPoolOptions, 'timeouts' | 'tlsSessions'>;
  /** When each connection's last job ended. */
  private readonly lastUsedMs = new WeakMap<SmtpConnection, number>();
  private readonly connections = new Set<SmtpConnection>();
  private readonly idle: SmtpConnection[] = [];
  /** Those that wait for the reply to RSET. */
  private readonly leaving = new Set<SmtpConnection>();
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
    this.options = { ...DEFAULTS, cap: new MessageCap(), silentTls: new SilentTls(clock), ...options };
  }

  /** Connections of any state: being opened, in use, idle, saying QUIT. */
  get openConnections(): number {
    return this.connections.size;
  }

  get idleConnections(): number {
    return this.idle.length;
  }

  /** No connection of any state, and no job that may need one. */
  get isUnused(): boolean {
    return this.connections.size === 0 && this.unsettled === 0;
  }

  /** False when one more job would have to wait for a connection. */
  get hasRoom(): boolean {
    return this.unsettled < this.options.maxConnections;
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
      this.entries.push({ job, resolve, reject, endpoint: job.endpoint ?? this.endpoint, needsFresh: false });
      this.dispatch();
    });
  }

  /** Ends every waiting job as `aborted`; those on a connection continue. For a destination that cannot be reached. */
  dropWaiting(): number {
    const dropped = this.entries.splice(0);
    for (const entry of dropped) this.settle(entry, this.turnedAway());
    return dropped.length;
  }

  /**
   * Sends what waits, then QUIT on every connection; resolves when the last is closed. Only the time limits of SMTP bound it;
   * `destroy` ends it at once.
   */
  close(): Promise<void> {
    if (this.state === 'open') this.state = 'closing';
    this.closeIdle();
    return new Promise((resolve) => {
      this.whenClosed.push(resolve);
      this.finishClosing();
    });
  }

  /** Says QUIT on every connection that is not in use. */
  closeIdle(): void {
    for (const connection of [...this.idle]) this.retire(connection);
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
      const connection = this.takeIdle(next);
      if (connection === undefined && this.awaits(next)) return;
      if (connection === undefined && !hasRoom) return this.makeRoom();
      this.entries.shift();
      void this.run(next, connection);
    }
  }

  private takeIdle(entry: Entry): SmtpConnection | undefined {
    const position = this.idle.findLastIndex((connection) => isFor(connection, entry));
    return position === -1 ? undefined : this.idle.splice(position, 1)[0];
  }

  /** Enough connections are about to be free again. */
  private awaits(entry: Entry): boolean {
    return [...this.leaving].filter((connection) => isFor(connection, entry)).length >= this.entries.length;
  }

  /** For one that needs a fresh connection an idle one makes room. */
  private makeRoom(): void {
    const spare = this.idle[0];
    if (spare !== undefined) this.retire(spare);
  }

  private async run(entry: Entry, connection: SmtpConnection | undefined): Promise<void> {
    try {
      const isReused = connection !== undefined;
      const beganMs = clock.monotonicMs();
      const restedMs = isReused ? beganMs - (this.lastUsedMs.get(connection) ?? 0) : 0;
      const result = await (isReused ? this.sendOn(connection, entry) : this.sendOnNew(entry));
      const capSeen = isReused && restedMs < RESTED_MS ? connection.messageCount - 1 : undefined;
      const again = secondTry(entry, result, isReused, capSeen);
      if (givesUpTls(entry, again)) this.options.silentTls.note(entry.endpoint, result);
      const endsMs = this.endOf(entry, beganMs);
      if (again === undefined || this.isOver(entry, endsMs)) return this.settle(entry, result);
      this.entries.unshift({ ...again, endsMs });
      this.dispatch();
    } catch (error) {
      entry.reject(error);
      this.countSettled();
    }
  }

  /** True when the job's result is final. */
  private isOver({ job }: Entry, endsMs: number): boolean {
    return this.state === 'closed' || job.conversation?.isCutShort === true || clock.monotonicMs() >= endsMs;
  }

  private endOf({ job: { attemptSeconds = Infinity }, endsMs }: Entry, beganMs: number): number {
    const { attempt = SMTP_TIMEOUTS.attempt } = this.options.timeouts ?? {};
    return endsMs ?? beganMs + Math.min(attempt, attemptSeconds) * SECOND;
  }

  private async sendOnNew(entry: Entry): Promise<SmtpResult> {
    const { job } = entry;
    const { timeouts: limits = {}, tlsSessions, silentTls } = this.options;
    const endpoint = silentTls.asKnown(entry.endpoint, entry.isTlsBroken);
    const timeouts = limitsOf(entry, limits);
    const heloName = endpoint.source?.ehlo ?? this.options.heloName;
    const onClosed = () => this.forget(connection);
    const { holder } = job;
    const connection = new SmtpConnection(endpoint, { heloName, timeouts, tlsSessions, onClosed, holder });
    this.connections.add(connection);
    job.conversation?.begin(connection);
    const refusal = await connection.open(secondsOf(entry));
    if (refusal !== undefined) return refusal;
    if (connection.isEncrypted) silentTls.forget(endpoint);
    return this.sendOn(connection, entry);
  }

  private async sendOn(connection: SmtpConnection, entry: Entry): Promise<SmtpResult> {
    const { job, capSeen } = entry;
    job.conversation?.begin(connection);
    try {
      const result = await connection.send(job.envelope, job.message, job.hooks, secondsOf(entry));
      if (capSeen !== undefined && result.kind === 'accepted') this.options.cap.learn(capSeen);
      return result;
    } finally {
      job.conversation?.end();
      const leaving = connection.whenReady();
      if (leaving === undefined) this.release(connection);
      else void this.leaveAndRelease(connection, leaving);
    }
  }

  private async leaveAndRelease(connection: SmtpConnection, leaving: Promise<void>): Promise<void> {
    this.leaving.add(connection);
    await leaving;
    this.leaving.delete(connection);
    this.release(connection);
  }

  /** A connection whose job is done: next job, rest, or QUIT. */
  private release(connection: SmtpConnection): void {
    if (!connection.isUsable) return;
    const { maxMessagesPerConnection, cap, idleSeconds } = this.options;
    if (connection.messageCount >= cap.within(maxMessagesPerConnection)) return this.retire(connection);
    this.lastUsedMs.set(connection, clock.monotonicMs());
    const next = this.entries[0];
    if (next !== undefined && !isFor(connection, next)) return this.retire(connection);
    this.entries.shift();
    if (next !== undefined) return void this.run(next, connection);
    if (this.state !== 'open') return this.retire(connection);
    this.idle.push(connection);
    connection.park(cap.idleWithin(idleSeconds), () => this.retire(connection));
  }

  private retire(connection: SmtpConnection): void {
    removeFrom(this.idle, connection);
    void connection.quit();
  }

  private forget(connection: SmtpConnection): void {
    this.connections.delete(connection);
    this.leaving.delete(connection);
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
    if (this.state === 'open' || !this.isUnused) return;
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
