import { applyDecorators, type CanActivate, type ExecutionContext, Injectable, UseGuards } from '@nestjs/common';
import { AppError } from '../errors/app-error';
import type { Principal } from './principal';

/** Refuses keys that are bound to one domain. */
@Injectable()
class UnboundGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const { principal } = context.switchToHttp().getRequest<{ principal?: Principal }>();
    if (principal?.domainId === undefined) return true;
    throw new AppError('domain_not_allowed', 'This API key is bound to one domain');
  }
}

/** A route or controller that concerns all domains of the organization: not for a key that is bound to one (403). */
export function Unbound(): MethodDecorator & ClassDecorator {
  return applyDecorators(UseGuards(UnboundGuard));
}
