import {
  applyDecorators,
  type CanActivate,
  type ExecutionContext,
  Injectable,
  SetMetadata,
  UseGuards,
} from '@nestjs/common';
import { ApiBearerAuth, ApiExtension, ApiSecurity } from '@nestjs/swagger';
import { AppError } from '../errors/app-error';
import type { Principal } from './principal';

/** Every scope a key can carry, with what it covers. */
export const SCOPES = {
  'email:send': 'Send and cancel emails',
  'email:read': 'Read emails, their events and contents',
  'domain:read': 'Read domains',
  'domain:manage': 'Read and manage domains',
  'stats:read': 'Read statistics and reputation',
  'suppression:read': 'Read the suppression list',
  'suppression:manage': 'Change the suppression list',
  'privacy:read': 'Read privacy requests and the audit log',
  'privacy:manage': 'Request exports and erasures',
  'template:read': 'Read and preview templates',
  'template:manage': 'Manage templates',
  'webhook:read': 'Read webhooks',
  'webhook:manage': 'Manage webhooks',
  'inbound:read': 'Read inbound routes and the mail that came by them',
  'inbound:manage': 'Manage inbound routes',
  'key:manage': 'Manage API keys',
} as const;

export type Scope = keyof typeof SCOPES;

/** Every scope that an operator's key can carry. */
export const OPERATOR_SCOPES = {
  'operator:read': 'See organizations, the queue, destinations, workers and the audit log of the installation',
  'operator:manage': 'Read and change them',
} as const;

export type OperatorScope = keyof typeof OPERATOR_SCOPES;

export const ALL_OPERATOR_SCOPES = Object.keys(OPERATOR_SCOPES) as OperatorScope[];

export const ALL_SCOPES = Object.keys(SCOPES) as Scope[];

/** Scopes that another scope brings with it. */
const IMPLIED: Partial<Record<string, readonly string[]>> = {
  'domain:manage': ['domain:read'],
  'inbound:manage': ['inbound:read'],
  'operator:manage': ['operator:read'],
  'template:manage': ['template:read'],
};

/** The scopes as granted, with the implied ones. */
export function effectiveScopes(granted: readonly string[]): ReadonlySet<string> {
  return new Set(granted.flatMap((scope) => [scope, ...(IMPLIED[scope] ?? [])]));
}

export const SCOPE_METADATA = 'waybill:scope';
export const OPERATOR_SCOPE_METADATA = 'waybill:operator-scope';
export const PUBLIC_METADATA = 'waybill:public';
export const ACROSS_TENANTS_METADATA = 'waybill:across-tenants';

/** The scope a route needs. A route with neither this nor `@Public()` is refused. */
export function RequireScope(scope: Scope): MethodDecorator & ClassDecorator {
  return applyDecorators(SetMetadata(SCOPE_METADATA, scope), ApiBearerAuth(), ApiExtension('x-required-scope', scope));
}

/** The scope that a route of `/operator/v1` needs, which only operators' keys have. */
export function RequireOperatorScope(scope: OperatorScope): MethodDecorator & ClassDecorator {
  return applyDecorators(
    SetMetadata(OPERATOR_SCOPE_METADATA, scope),
    ApiBearerAuth('operator'),
    ApiExtension('x-required-scope', scope),
  );
}

/** A route that needs no key: health, documentation, pages. */
export function Public(): MethodDecorator & ClassDecorator {
  return applyDecorators(SetMetadata(PUBLIC_METADATA, true), ApiSecurity({}));
}

/** A route whose statements see the rows of all organizations: a token decides what it finds, or it is the operator's. */
export function AcrossTenants(): MethodDecorator & ClassDecorator {
  return SetMetadata(ACROSS_TENANTS_METADATA, true);
}

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

/** Refuses test keys: both modes share what live mail depends on. */
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
