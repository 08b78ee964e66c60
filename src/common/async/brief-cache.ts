import type { Clock } from '../clock';

/**
 * Puts a question at most once per `ttlMs`, however often it is asked: those who ask meanwhile share the one answer. A
 * failure is an answer too, so that a broken store is not asked in a storm.
 */
export class BriefCache<T> {
  private answer: Promise<T> | undefined;
  private staleAtMs = 0;

  constructor(
    private readonly question: () => Promise<T>,
    private readonly ttlMs: number,
    private readonly clock: Clock,
  ) {}

  get(): Promise<T> {
    if (this.answer === undefined || this.clock.monotonicMs() >= this.staleAtMs) this.answer = this.ask();
    return this.answer;
  }

  private async ask(): Promise<T> {
    this.staleAtMs = Infinity;
    try {
      return await this.question();
    } finally {
      this.staleAtMs = this.clock.monotonicMs() + this.ttlMs;
    }
  }
}
