import type { AppError } from '../errors/app-error';
import type { BodyOptions } from './body-options';
import type { Principal } from './principal';

declare module 'fastify' {
  interface FastifyRequest {
    /** Who is calling, set by the auth guard; absent on public routes. */
    principal?: Principal;
    /** Why the body was not taken. `BodyGuard` throws it after authentication, so that a stranger learns nothing of it. */
    refusal?: AppError;
    /** The unforeseen error behind a 5xx, for the log only. */
    failure?: unknown;
    /** Bytes of a large body that this request holds of the process's budget. */
    heldBytes: number;
  }

  interface FastifyContextConfig {
    /** Set by `@TakesBody`. */
    body?: BodyOptions;
  }
}

/** Declared on the request class at start, so that all requests share one shape. */
export const REQUEST_FIELDS = { principal: undefined, refusal: undefined, failure: undefined, heldBytes: 0 };
