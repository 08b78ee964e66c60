import { SystemClock } from '../../common/clock';
import type { PhaseTimes } from '../ports/attempt-trace';
import type { SmtpPhase } from '../ports/smtp-phase';

const clock = new SystemClock();

/** Times the phases of a conversation: each takes what has passed since the one before. */
export class PhaseTimer {
  private times: Partial<Record<SmtpPhase, number>> = {};
  private lastMs = clock.monotonicMs();

  /** Begins anew: a connection goes on with the next message. */
  restart(): void {
    this.times = {};
    this.lastMs = clock.monotonicMs();
  }

  /** A phase, or a part of it, is over. */
  end(phase: SmtpPhase): void {
    const nowMs = clock.monotonicMs();
    this.times[phase] = (this.times[phase] ?? 0) + nowMs - this.lastMs;
    this.lastMs = nowMs;
  }

  /** Whole milliseconds. */
  read(): PhaseTimes {
    const rounded: Partial<Record<SmtpPhase, number>> = {};
    for (const phase in this.times) rounded[phase as SmtpPhase] = Math.round(this.times[phase as SmtpPhase] ?? 0);
    return rounded;
  }
}
