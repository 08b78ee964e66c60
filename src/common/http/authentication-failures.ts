import type { AppError } from '../errors/app-error';

/**
 * Bounds the guessing of keys per client address. Auth reports every failed authentication; throttling implements it.
 * A valid key is never refused here: many clients may share one address, and one of them must not lock out the others.
 */
export abstract class AuthenticationFailures {
  /** @returns what to throw: `failure` itself, or rate_limit_exceeded once the address has failed too often. */
  abstract refusalFor(ip: string, failure: AppError): AppError;
}
