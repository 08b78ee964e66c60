import type { ExecutionContext } from '@nestjs/common';
import type { AppError } from '../errors/app-error';

/** Counts a request against its limits; throttling implements it, auth counts what it refuses through it. */
export abstract class RequestLimits {
  /**
   * Sets the rate limit headers. Throws at once, or rejects where a limit is looked up asynchronously.
   * @throws AppError rate_limit_exceeded
   */
  abstract count(context: ExecutionContext): Promise<unknown> | undefined;
}

/**
 * Bounds the guessing of keys per client address. Auth reports every failed authentication; throttling implements it.
 * A valid key is never refused here: many clients may share one address, and one of them must not lock out the others.
 */
export abstract class AuthenticationFailures {
  /** @returns what to throw: `failure` itself, or rate_limit_exceeded once the address has failed too often. */
  abstract refusalFor(ip: string, failure: AppError): AppError;
}
