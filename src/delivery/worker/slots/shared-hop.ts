import { type Clock, SECOND } from '../../../common/clock';

/** Mail that waits for it asks for it every second. */
const MISSING_MS = 10 * SECOND;

/** The one next hop, outside of the mode `direct`: what its group is called, and whether its name is found. */
export class SharedHop {
  private missing: { readonly cause: string; readonly untilMs: number } | undefined;

  /** @param name of its group until its host is known */
  constructor(
    private readonly clock: Clock,
    private name = 'next-hop',
  ) {}

  /** The key of its group. */
  get key(): string {
    return this.name;
  }

  /** A look-up has failed, so that no mail can be tried. */
  noteMissing(reason: string): void {
    const cause = `The name of the next hop is not found: ${reason}`;
    this.missing = { cause, untilMs: this.clock.monotonicMs() + MISSING_MS };
  }

  /** A look-up has succeeded. @param hostName of the hop; absent: as before */
  noteFound(hostName = this.name): void {
    this.name = hostName;
    this.missing = undefined;
  }

  /** What its group is reported with while its name is not found. */
  get fault(): { readonly cause: string; readonly pausedForMs: number } | undefined {
    const leftMs = (this.missing?.untilMs ?? -Infinity) - this.clock.monotonicMs();
    return this.missing && leftMs > 0 ? { cause: this.missing.cause, pausedForMs: leftMs } : undefined;
  }
}
