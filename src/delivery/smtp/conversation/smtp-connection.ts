import { AppError } from '../../../common/errors/app-error';
import { stuffDotsInTurns } from './dot-stuffing';
import { assertHeloName, type SmtpEndpoint } from './smtp-endpoint';
import { assertSafeEnvelope, findLocalRefusal, type SmtpEnvelope } from './smtp-envelope';
import { openSession } from './smtp-handshake';
import { type SmtpRefusal, type SmtpResult, ABORTED, CUT_SHORT } from './smtp-result';
import { SmtpSession } from './smtp-session';
import { SMTP_TIMEOUTS, type SmtpTimeouts } from './smtp-timeouts';
import { runTransaction, type SmtpHooks } from './smtp-transaction';
import { SmtpWire } from './smtp-wire';
import type { TlsSessions } from './host-memory';

export interface SmtpConnectionOptions {
  /** This host's name, for EHLO. */
  readonly heloName: string;
  /** Overrides of `SMTP_TIMEOUTS`, in seconds. */
  readonly timeouts?: Partial<SmtpTimeouts>;
  /** Kept beyond the connection, so that the next one to the host need not make new keys. */
  readonly tlsSessions?: TlsSessions | undefined;
  /** Who waits for its TLS handshake; the host itself by default. */
  readonly holder?: string | undefined;
  /** Called once, when the connection is of no more use, whatever the reason. */
  readonly onClosed?: () => void;
}

/**
 * One SMTP connection to one next hop.
 *
 * States: new → (`open`) opening → ready ⇄ (`send`) sending; from each of them → closed, by a fault, by `quit` or by
 * `destroy`. Only a ready connection is usable; whatever the server does while no command is under way closes it. After a refusal
 * `send` has ended when the connection is still leaving: it is ready again (`whenReady`) once the server has replied to RSET.
 */
export class SmtpConnection {
  private readonly session: SmtpSession;
  private state: 'new' | 'opening' | 'ready' | 'sending' | 'leaving' | 'quitting' | 'closed' = 'new';
  private sentMessages = 0;

  /** @throws AppError when the EHLO name is not a host name. */
  constructor(endpoint: SmtpEndpoint, options: SmtpConnectionOptions) {
    assertHeloName(options.heloName);
    const wire = new SmtpWire(() => {
      this.state = 'closed';
      options.onClosed?.();
    });
    const timeouts = { ...SMTP_TIMEOUTS, ...options.timeouts };
    this.session = new SmtpSession(endpoint, options.heloName, timeouts, wire, options);
  }

  /** True while `send` may be called. */
  get isUsable(): boolean {
    return this.state === 'ready';
  }

  /** True for one that was made as mail for this endpoint demands. */
  suits(endpoint: SmtpEndpoint): boolean {
    return this.session.suits(endpoint);
  }

  /** Resolves when a connection that is leaving a refused transaction is usable, or closed; undefined for any other. */
  whenReady(): Promise<void> | undefined {
    return this.state === 'leaving' ? this.session.leaving : undefined;
  }

  get isEncrypted(): boolean {
    return this.session.wire.isSecure;
  }

  /** Transactions begun on this connection. */
  get messageCount(): number {
    return this.sentMessages;
  }

  /**
   * Connects, greets, encrypts and logs in; returns nothing on success.
   * @param attemptSeconds what is left of the attempt's time
   */
  async open(attemptSeconds = Infinity): Promise<SmtpRefusal | undefined> {
    this.assertState('new');
    this.state = 'opening';
    const { wire, timeouts } = this.session;
    wire.deadline.beginAttempt(Math.min(timeouts.attempt, attemptSeconds));
    const refusal = await this.handshake();
    if (refusal !== undefined) return refusal;
    // Closed in the same breath as it became ready.
    if (wire.fault !== undefined) return this.session.failed('mail', wire.fault);
    this.state = 'ready';
    return undefined;
  }

  /**
   * Delivers one message to one recipient. The first message of a connection shares the attempt's time with `open`.
   *
   * @param message complete bytes with CRLF line ends, not dot-stuffed.
   * @param attemptSeconds what is left of the attempt's time
   * @throws AppError for an unsafe envelope or message, or while not ready: faults on this side. A closed connection
   * is a result, and one that is leaving is waited for.
   */
  async send(
    envelope: SmtpEnvelope,
    message: Buffer,
    hooks: SmtpHooks,
    attemptSeconds = Infinity,
  ): Promise<SmtpResult> {
    await this.whenReady();
    if (this.state === 'closed') return this.session.failed('mail', this.session.wire.fault ?? ABORTED);
    this.assertState('ready');
    assertSafeEnvelope(envelope);
    const { session } = this;
    const refusal = findLocalRefusal(envelope, session.capabilities);
    if (refusal !== undefined) return session.declined(refusal);
    this.state = 'sending';
    session.wire.deadline.beginAttempt(Math.min(session.timeouts.attempt, attemptSeconds));
    const stuffed = await this.stuffed(message);
    if (this.sentMessages > 0) session.timer.restart();
    this.sentMessages += 1;
    const result = await runTransaction(session, envelope, stuffed, hooks);
    session.wire.deadline.endAttempt();
    if (session.wire.fault === undefined) this.state = session.leaving ? 'leaving' : 'ready';
    session.leaving = session.leaving?.then(() => {
      session.leaving = undefined;
      if (session.wire.fault === undefined) this.state = 'ready';
    });
    return result;
  }

  /** Calls `onExpired` when the connection stays unused for that long; the next `send` lifts the limit. */
  park(seconds: number, onExpired: () => void): void {
    const { deadline } = this.session.wire;
    deadline.endAttempt();
    deadline.set(seconds, onExpired);
  }

  /**
   * Sends QUIT and waits, within its time limit, for the server to close: the side that closes first has to keep the port for
   * minutes (TIME-WAIT), and a sender runs out of ports sooner. A connection in use is closed at once.
   */
  async quit(): Promise<void> {
    if (this.state === 'ready') {
      this.state = 'quitting';
      await this.session.command('quit', 'QUIT');
      // No reply is due, so this waits for the end of the connection.
      await this.session.reply('quit');
    }
    this.destroy();
  }

  /** How long the conversation under way has been waiting for the other side. */
  get waitingMs(): number {
    const isUnderWay = this.state === 'opening' || this.state === 'sending';
    return isUnderWay ? this.session.wire.deadline.elapsedMs : 0;
  }

  /** As `waitingMs`; 0 once the final dot is out. */
  get silentMs(): number {
    return this.session.isPastFinalDot ? 0 : this.waitingMs;
  }

  /** Ends the conversation under way; what is under way ends as `failed` with the cause `cut-short`. */
  cutShort(): void {
    this.session.wire.destroy(CUT_SHORT);
  }

  /** Closes at once; what is under way ends as `failed` with the cause `aborted`. */
  destroy(): void {
    this.session.wire.destroy();
  }

  /** An exception here means an impossible endpoint, such as a port over 65,535; the connection must not stay behind. */
  private async handshake(): Promise<SmtpRefusal | undefined> {
    try {
      return await openSession(this.session);
    } catch (error) {
      this.destroy();
      throw error;
    }
  }

  /** Nothing is sent of a message that cannot be sent. */
  private async stuffed(message: Buffer): Promise<Buffer> {
    try {
      return await stuffDotsInTurns(message);
    } catch (error) {
      this.session.wire.deadline.endAttempt();
      if (this.session.wire.fault === undefined) this.state = 'ready';
      throw error;
    }
  }

  private assertState(state: 'new' | 'ready'): void {
    if (this.state !== state) {
      throw new AppError('internal_error', `The SMTP connection is ${this.state}, not ${state}`);
    }
  }
}

/** A hold on the conversation of one attempt, for the code that may have to end it. */
export class Conversation {
  private connection: SmtpConnection | undefined;
  private wasCut = false;

  /** Called when the attempt has got a connection. */
  begin(connection: SmtpConnection): void {
    this.connection = connection;
  }

  /** Called when the connection is no longer the attempt's. */
  end(): void {
    this.connection = undefined;
  }

  /** How long it has been waiting for the other side, the reply to the final dot included. */
  get waitingMs(): number {
    return this.connection?.waitingMs ?? 0;
  }

  /** How long the other side has been silent; 0 when it is not its turn, or must not be hurried. */
  get silentMs(): number {
    return this.connection?.silentMs ?? 0;
  }

  /** True when the attempt ends with its present result. */
  get isCutShort(): boolean {
    return this.wasCut;
  }

  cutShort(): void {
    this.wasCut = true;
    this.connection?.cutShort();
  }
}
