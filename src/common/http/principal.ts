import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { Request } from 'express';
import { AppError } from '../errors/app-error';
import type { Tenant } from '../tenant';

/** Who is calling: what the auth guard leaves on the request. */
export interface Principal extends Tenant {
  readonly apiKeyId: string;
  readonly scopes: ReadonlySet<string>;
  /** When the key expires, if it does: what it makes must not last longer. Not set for a session by a link, which is a person's. */
  readonly expiresAt?: Date;
  /** Set when the key is bound to one domain. */
  readonly domainId: string | undefined;
  /** A person at the console, who has signed in with the key. */
  readonly isSession?: boolean;
}

/** An operator, by a key of their own: what the auth guard leaves on requests to `/operator/v1`. */
export interface Operator {
  readonly keyId: string;
  readonly scopes: ReadonlySet<string>;
  /** In the audit log: `operator:<key id>`. */
  readonly actor: string;
  /** When the key expires, if it does. */
  readonly expiresAt?: Date;
}

/** The operator who is calling. */
export const CurrentOperator = createParamDecorator((_data: unknown, context: ExecutionContext): Operator => {
  const { operator } = context.switchToHttp().getRequest<Request>();
  if (!operator) throw new AppError('invalid_api_key', 'The API key is missing or not valid');
  return operator;
});

/** The caller, as the auth guard found it. */
export const CurrentPrincipal = createParamDecorator((_data: unknown, context: ExecutionContext): Principal => {
  return requirePrincipal(context.switchToHttp().getRequest<Request>());
});

/** @throws AppError for a request that no guard has let in */
export function requirePrincipal({ principal }: Request): Principal {
  if (!principal) throw new AppError('invalid_api_key', 'The API key is missing or not valid');
  return principal;
}
