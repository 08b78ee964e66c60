import { SECOND } from '../clock';

/** What a share left out, and the length of its window. */
export interface LeftOut {
  readonly logged: number;
  readonly leftOut: number;
  readonly seconds: number;
}

interface Share {
  readonly sumUp: (left: LeftOut) => void;
  logged: number;
  leftOut: number;
}

/**
 * Bounds the lines of a kind that a log takes within a window, so that neither a client nor an outage fills it. What exceeds a share is
 * counted, and summed up at the end of the window, which begins with the first line.
 */
export class LineShares {
  private readonly shares = new Map<string, Share>();
  private window: NodeJS.Timeout | undefined;

  constructor(private readonly windowMs: number) {}

  /** Whether a line of this kind was logged within the window. */
  has(name: string): boolean {
    return this.shares.has(name);
  }

  /**
   * @param most lines of this kind within the window
   * @param sumUp logs how many were left out
   * @returns false when the line is to be left out
   */
  take(name: string, most: number, sumUp: (left: LeftOut) => void): boolean {
    const share = this.shares.get(name) ?? { sumUp, logged: 0, leftOut: 0 };
    this.shares.set(name, share);
    this.window ??= setTimeout(() => this.end(), this.windowMs).unref();
    const fits = share.logged < most;
    if (fits) share.logged += 1;
    else share.leftOut += 1;
    return fits;
  }

  private end(): void {
    this.window = undefined;
    const ended = [...this.shares.values()];
    this.shares.clear();
    for (const { sumUp, logged, leftOut } of ended) {
      if (leftOut > 0) sumUp({ logged, leftOut, seconds: this.windowMs / SECOND });
    }
  }
}
