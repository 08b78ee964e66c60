import { AppError } from '../../errors/app-error';

/**
 * Serving → leaving → draining. While it serves, requests are only counted. From `announce()` on it serves as before, but
 * reports that it is not ready, so that a load balancer moves on, and closes each connection after its response. From `begin()` on,
 * new requests are refused with 503, while the running ones finish. The order never reverses.
 */
export class Draining {
  private leaving = false;
  private draining = false;
  private running = 0;
  private readonly waiting: (() => void)[] = [];

  /** New requests are refused. */
  get active(): boolean {
    return this.draining;
  }

  /** Readiness is false. */
  get announced(): boolean {
    return this.leaving;
  }

  /** Requests without a complete response. */
  get inFlight(): number {
    return this.running;
  }

  enter(): void {
    this.running += 1;
  }

  leave(): void {
    this.running -= 1;
    if (this.running > 0) return;
    for (const resolve of this.waiting.splice(0)) resolve();
  }

  announce(): void {
    this.leaving = true;
  }

  begin(): void {
    this.leaving = true;
    this.draining = true;
  }

  /** @returns true when nothing runs any more, false when `timeoutMs` have passed first. */
  async whenIdle(timeoutMs: number): Promise<boolean> {
    if (this.running === 0) return true;
    return new Promise((resolve) => {
      const timer = setTimeout(() => resolve(false), timeoutMs);
      this.waiting.push(() => {
        clearTimeout(timer);
        resolve(true);
      });
    });
  }

  /** What a new request is refused with while draining. */
  refusal(): AppError {
    return new AppError('service_unavailable', 'The service is stopping', { retryAfterSeconds: 1 });
  }
}
