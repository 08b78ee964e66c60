import { type ExecutionContext, SetMetadata } from '@nestjs/common';
import type { AppError } from '../errors/app-error';
import type { Principal } from './principal';

/** Counts a request against its limits; throttling implements it, auth counts what it refuses through it. */
export abstract class RequestLimits {
  /**
   * Sets the rate limit headers. Throws at once, or rejects when a limit is read asynchronously.
   * @throws AppError rate_limit_exceeded
   */
  abstract count(context: ExecutionContext): Promise<unknown> | undefined;
  /** Counts a message that came over SMTP like a send over HTTP. @throws AppError rate_limit_exceeded */
  abstract countMessage(principal: Principal): void;
}

/**
 * Bounds the guessing of keys per client address. Auth reports every failed authentication; throttling implements it.
 * A valid key is not refused for it: many clients may share one address, and one of them must not lock out the others. Only while
 * twenty look-ups of its address wait does a key that is not cached get 429, for a second.
 */
export abstract class AuthenticationFailures {
  /** @returns what to throw: `failure` itself, or rate_limit_exceeded once the address has failed too often. */
  abstract refusalFor(ip: string, failure: AppError): AppError;
  /** Whether it has failed so often by now; counts nothing. */
  abstract hasTooMany(ip: string): boolean;
}

/**
 * Failed logins of a client network over SMTP, of all processes together: one that is locked out at one of them is locked out
 * at all. throttling implements it.
 */
export abstract class LoginFailures {
  /** How many in the last minutes. @throws UnavailableError */
  abstract count(client: string, minutes: number): Promise<number>;
  /** Adds one; returns how many there are now. @throws UnavailableError */
  abstract add(client: string, minutes: number): Promise<number>;
}

/** Which of a key's limits an endpoint counts against; the figures are throttling's. */
export type EndpointClass =
  | 'send'
  | 'batch'
  | 'reads'
  | 'stats'
  | 'writes'
  | 'domain-writes'
  | 'gdpr-export'
  | 'gdpr-delete'
  | 'api-key-writes'
  | 'unsubscribe'
  | 'console-sign-in';

export const RATE_LIMIT_CLASS_METADATA = 'waybill:rate-limit-class';

/**
 * The limit that a route counts against, per API key, on public routes per client address. Without it, GET counts as a read
 * and everything else as a write; public routes count nothing.
 */
export function RateLimitClass(name: EndpointClass): MethodDecorator & ClassDecorator {
  return SetMetadata(RATE_LIMIT_CLASS_METADATA, name);
}

export const OWN_TURNS_METADATA = 'waybill:own-turns';

/**
 * A change that takes no turn among its organization's changes, as it has turns of its own, or shares the transactions of all: sends, and what
 * waits for the DNS.
 */
export function HasOwnTurns(): MethodDecorator {
  return SetMetadata(OWN_TURNS_METADATA, true);
}
