import { HOUR, SystemClock } from '../../common/clock';

const clock = new SystemClock();

/** What a host was seen to take on one connection before it said 421, for an hour: a wrong lesson costs handshakes. */
export class MessageCap {
  private messages = Infinity;
  private untilMs = -Infinity;
  private bound = Infinity;
  private idleSeconds = Infinity;

  /** To be called once a fresh connection has taken what the used one refused: else the 421 was about something else. */
  learn(messages: number): void {
    this.messages = Math.max(1, messages);
    this.untilMs = clock.monotonicMs() + HOUR;
  }

  /** What is known of the host beforehand. */
  keepWithin(most: number, idleSeconds: number): void {
    this.bound = most;
    this.idleSeconds = idleSeconds;
  }

  /** How long an unused connection is kept, of `most`. */
  idleWithin(most: number): number {
    return Math.min(this.idleSeconds, most);
  }

  /** The messages that a connection may carry, of `most`. */
  within(most: number): number {
    const bounded = Math.min(this.bound, most);
    return clock.monotonicMs() < this.untilMs ? Math.min(this.messages, bounded) : bounded;
  }
}
