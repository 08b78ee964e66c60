import { applyDecorators, type CanActivate, type ExecutionContext, Injectable, UseGuards } from '@nestjs/common';
import { AppError } from '../errors/app-error';
import type { Principal } from './principal';

function principalOf(context: ExecutionContext): Principal | undefined {
  return context.switchToHttp().getRequest<{ principal?: Principal }>().principal;
}

/** Refuses keys that are bound to one domain. */
@Injectable()
class UnboundGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    if (principalOf(context)?.domainId === undefined) return true;
    throw new AppError('domain_not_allowed', 'This API key is bound to one domain');
  }
}

/** Refuses test keys: what live mail depends on is shared by both modes. */
@Injectable()
class LiveOnlyGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    if (principalOf(context)?.mode !== 'test') return true;
    throw new AppError('insufficient_permissions', 'A test key cannot change what live mail depends on', {
      suggestion: 'Use a live key',
    });
  }
}

/** A route or controller that concerns all domains of the organization: not for a key that is bound to one (403). */
export function Unbound(): MethodDecorator & ClassDecorator {
  return applyDecorators(UseGuards(UnboundGuard));
}

/** A route or controller that changes what live mail depends on: not for test keys (403). */
export function LiveOnly(): MethodDecorator & ClassDecorator {
  return applyDecorators(UseGuards(LiveOnlyGuard));
}
