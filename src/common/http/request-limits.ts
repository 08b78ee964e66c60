import type { ExecutionContext } from '@nestjs/common';

/** Counts a request against its limits; throttling implements it, auth counts what it refuses through it. */
export abstract class RequestLimits {
  /** Sets the rate limit headers. @throws AppError rate_limit_exceeded */
  abstract count(context: ExecutionContext): void;
}
