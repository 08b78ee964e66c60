import { SECOND, SystemClock } from '../../../common/clock';
import type { SmtpPhase } from '../../ports/attempt-trace';

/** What has a limit: each phase of a conversation, and what is no phase of its own. */
export type SmtpTimeLimit = Exclude<SmtpPhase, 'dns'> | 'firstTls' | 'block' | 'rset' | 'quit' | 'attempt';

export type SmtpTimeouts = Readonly<Record<SmtpTimeLimit, number>>;

/**
 * The limits in seconds. RFC 5321 section 4.5.3.2 asks for 5 minutes at most commands; a sender with many connections cannot
 * hold one that long for a host that is unreachable, so all but the final dot are shorter, as in other large senders. Each
 * limit counts from the moment the reply is due, so a reply that drips byte by byte gains nothing.
 */
export const SMTP_TIMEOUTS: SmtpTimeouts = {
  /** Three SYN retransmissions (1, 2, 4 s); a host that needs longer is not reachable, and others wait behind it. */
  connect: 10,
  /** The banner and the reply to EHLO, each. Receivers delay the banner on purpose to see who talks too early; few go past 30 s. */
  greeting: 60,
  /** The reply and the TLS handshake, each. */
  tls: 60,
  /** As `tls`, where a second try follows, which has the whole time: below what ends attempts for others (`SilentAttempts`). */
  firstTls: 20,
  /** Relays check passwords against slow directories. */
  auth: 60,
  mail: 60,
  /** Receivers look up, call out and greylist here. */
  rcpt: 60,
  /** RFC 5321 section 4.5.3.2.4: 2 minutes for the 354. */
  data: 120,
  /** Per block of `BLOCK_BYTES` written (RFC 5321 section 4.5.3.2.5: 3 minutes). */
  block: 180,
  /** RFC 5321 section 4.5.3.2.6: 10 minutes. Giving up earlier makes duplicates (RFC 1047). */
  final: 600,
  /** The outcome of the message is known by then; only the connection is at stake, which the next mail may be waiting for. */
  rset: 5,
  quit: 5,
  /** One attempt at a mail until its final dot, all its connections together: bounds what a tarpit can hold. */
  attempt: 900,
};

/** The slowest accepted receiver. */
const MINIMUM_BYTES_PER_SECOND = 500;

/** One block per `block` timeout is the minimum rate. */
export const BLOCK_BYTES = SMTP_TIMEOUTS.block * MINIMUM_BYTES_PER_SECOND;

const clock = new SystemClock();

/**
 * One time limit that moves often, for the price of few timers: setting it later than the running timer only notes the new
 * time; the timer checks again when it fires. A timer per phase would cost more than the rest of a transaction.
 *
 * It uses real time and no `Clock`, as sockets do. The timer does not keep the process alive.
 */
export class Deadline {
  private timer: NodeJS.Timeout | undefined;
  private timerDueMs = Infinity;
  private dueMs = Infinity;
  private setAtMs = 0;
  private attemptEndsMs = Infinity;
  private onExpired: (() => void) | undefined;

  /** Starts a period that caps every limit set within it, unless one is running. */
  beginAttempt(seconds: number): void {
    if (this.attemptEndsMs === Infinity) this.attemptEndsMs = clock.monotonicMs() + seconds * SECOND;
  }

  endAttempt(): void {
    this.attemptEndsMs = Infinity;
  }

  /** Replaces the limit: `onExpired` is called once, unless set again or cleared before. */
  set(seconds: number, onExpired: () => void): void {
    const nowMs = clock.monotonicMs();
    this.setAtMs = nowMs;
    this.dueMs = Math.min(nowMs + seconds * SECOND, this.attemptEndsMs);
    this.onExpired = onExpired;
    if (this.dueMs < this.timerDueMs) this.arm(nowMs);
  }

  /** How long ago the present limit was set; 0 without one. */
  get elapsedMs(): number {
    return this.dueMs === Infinity ? 0 : clock.monotonicMs() - this.setAtMs;
  }

  /** Lifts the limit; a running timer finds nothing to do. */
  clear(): void {
    this.dueMs = Infinity;
  }

  /** Lifts the limit and frees the timer. */
  dispose(): void {
    this.clear();
    clearTimeout(this.timer);
    this.timer = undefined;
    this.timerDueMs = Infinity;
  }

  private arm(nowMs: number): void {
    clearTimeout(this.timer);
    this.timerDueMs = this.dueMs;
    this.timer = setTimeout(this.check, Math.max(0, Math.ceil(this.dueMs - nowMs))).unref();
  }

  private readonly check = (): void => {
    this.timer = undefined;
    this.timerDueMs = Infinity;
    const nowMs = clock.monotonicMs();
    if (this.dueMs === Infinity) return;
    if (this.dueMs > nowMs) return this.arm(nowMs);
    this.dueMs = Infinity;
    this.onExpired?.();
  };
}
