import { type ExecutionContext, SetMetadata } from '@nestjs/common';
import type { Request } from 'express';
import type { Principal } from '../principal';

/** Counts a request against its limits; throttling implements it, auth counts what it refuses through it. */
export abstract class RequestLimits {
  /**
   * Sets the rate limit headers. Throws at once, or rejects when a limit is read asynchronously.
   * @throws AppError rate_limit_exceeded
   */
  abstract count(context: ExecutionContext): Promise<unknown> | undefined;
  /** Counts a message that came over SMTP like a send over HTTP. @throws AppError rate_limit_exceeded */
  abstract countMessage(principal: Principal): void;
  /** Counts a sign-in to the console with a valid key. @param keyId an API key's or an operator key's @throws AppError rate_limit_exceeded */
  abstract countSignIn(keyId: string): void;
}

/**
 * Bounds the guessing of keys, sessions and sign-in links per client network, per owner of networks (IPv6 /48, IPv4 /24) and in all.
 * throttling implements it. A valid credential is not refused for it: many clients may share one address, and one of them must not lock out
 * the others. Once too many have failed, look-ups of credentials that have not been good lately take turns, so that guesses occupy no
 * connections to the database; only while twenty of its network wait is one refused with 429, for a second.
 */
export abstract class AuthenticationFailures {
  /**
   * @param lookUp verifies the credential
   * @throws what `lookUp` throws; instead of invalid_api_key, rate_limit_exceeded once the network or its owner has failed too often
   */
  abstract verify<T>(request: Request, credential: string, lookUp: () => Promise<T>): Promise<T>;
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
  | 'api-key-revocations'
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

export const CHANGE_METADATA = 'waybill:counts-as-change';

/** A read that leaves an entry in the audit log: it counts against what an organization may change, as each write does. */
export function CountsAsChange(): MethodDecorator {
  return SetMetadata(CHANGE_METADATA, true);
}

export const OWN_TURNS_METADATA = 'waybill:own-turns';

/**
 * A change that takes no turn among its organization's changes, as it has turns of its own, or shares the transactions of all: sends, and what
 * waits for the DNS.
 */
export function HasOwnTurns(): MethodDecorator {
  return SetMetadata(OWN_TURNS_METADATA, true);
}
